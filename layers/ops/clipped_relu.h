#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Computes y = min(max(x, 0), bound). Shapes are equal, and arbitrary.
struct ClippedReluForward {
  Tensor x;
  Tensor y;
  double bound = 20;
};

/// Computes dx = dy where 0 < y < bound, else 0. The gradient at both kinks is 0, as in PyTorch's
/// hardtanh.
struct ClippedReluBackward {
  Tensor y;
  Tensor dy;
  Tensor dx;
  double bound = 20;
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, ClippedReluForward& op) {
  w.reads(op.x);
  w.writes(op.y);
}

template <class Operands>
void operands(Operands& w, ClippedReluBackward& op) {
  w.reads(op.y, op.dy);
  w.writes(op.dx);
}

}  // namespace penstock::layers
