#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Converts `from` to `to`, rounded to nearest (ties to even) if `to` is narrower; between equal
/// dtypes it is a plain copy. Both have equally many elements and do not overlap; f32, f64, f16,
/// bf16.
struct Cast {
  Tensor from;
  Tensor to;
};

}  // namespace penstock::layers
