#pragma once

#include <cstdint>
#include <span>

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Computes y = x + scale · f, of equal shapes; y may be x or f. If x has no data, y = scale · f.
/// With `factors`, rows are frames, and `scale` is multiplied by the factor of a frame's utterance;
/// f is not read where that factor is 0. If y is 16-bit, x may be f32.
struct AddScaled {
  Tensor x;
  Tensor f;
  Tensor y;
  double scale = 1;
  std::span<const double> factors = {};        // in host memory, one per utterance, or none
  std::span<const std::int64_t> lengths = {};  // frames of each utterance, needed with factors
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, AddScaled& op) {
  w.reads(op.x, op.f);
  w.writes(op.y);
}

}  // namespace penstock::layers
