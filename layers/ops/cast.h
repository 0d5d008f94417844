#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// to = from, rounded to nearest (ties to even) where `to` is narrower; a plain copy between equal
/// dtypes. Equal numbers of elements, not overlapping; f32, f64, f16, bf16.
struct Cast {
  Tensor from;
  Tensor to;
};

}  // namespace penstock::layers
