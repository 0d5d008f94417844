#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Computes y_FO = x_FI · W_OI^T + b_O. Without bias, `b_O.data` is null.
struct LinearForward {
  Tensor x_FI, w_OI, b_O, y_FO;
};

/// Computes dx_FI = dy_FO · W_OI.
struct LinearBackwardInput {
  Tensor dy_FO, w_OI, dx_FI;
};

/// Adds gradients: dW_OI += dy_FO^T · x_FI; db_O += column sums of dy_FO. Without bias, `db_O.data`
/// is null.
struct LinearBackwardWeight {
  Tensor x_FI, dy_FO, dw_OI, db_O;
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, LinearForward& op) {
  w.reads(op.x_FI, op.w_OI, op.b_O);
  w.writes(op.y_FO);
}

template <class Operands>
void operands(Operands& w, LinearBackwardInput& op) {
  w.reads(op.dy_FO, op.w_OI);
  w.writes(op.dx_FI);
}

template <class Operands>
void operands(Operands& w, LinearBackwardWeight& op) {
  w.reads(op.x_FI, op.dy_FO);
}

}  // namespace penstock::layers
