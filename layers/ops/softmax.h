#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Computes y = exp(x - m) / Σ exp(x - m) over each row, with its largest number m. 16-bit numbers
/// are computed in FP32.
struct SoftmaxForward {
  Tensor x_FC;
  Tensor y_FC;
};

/// Computes dx = y · (dy - Σ dy · y), with the sum over each row.
struct SoftmaxBackward {
  Tensor y_FC;
  Tensor dy_FC;
  Tensor dx_FC;
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, SoftmaxForward& op) {
  w.reads(op.x_FC);
  w.writes(op.y_FC);
}

template <class Operands>
void operands(Operands& w, SoftmaxBackward& op) {
  w.reads(op.y_FC, op.dy_FC);
  w.writes(op.dx_FC);
}

}  // namespace penstock::layers
