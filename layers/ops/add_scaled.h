#pragma once

#include <cstdint>
#include <span>

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// y = x + scale · f, of equal shapes; y may be x or f. Without data in x: y = scale · f. With
/// `factors`, rows are frames, and `scale` is multiplied by the factor of a frame's utterance.
/// Where that is 0, f is not read. Where y is of halves, x may be f32.
struct AddScaled {
  Tensor x;
  Tensor f;
  Tensor y;
  double scale = 1;
  std::span<const double> factors = {};        // host; of each utterance, or none
  std::span<const std::int64_t> lengths = {};  // frames of each utterance, where there are factors
};

}  // namespace penstock::layers
