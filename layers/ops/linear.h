#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

// These operations multiply by the weights of a layer, and add its bias.

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

/// Computes y = x + bias, channel by channel; y may be x. Rows hold whole groups of C columns,
/// channels innermost: after a 2-D convolution a row is [frequency][channel].
struct AddBias {
  Tensor x;  // [rows, groups · C]
  Tensor bias_C;
  Tensor y;
};

/// Adds the gradient of the bias: d_bias_C += Σ dy over rows and groups.
struct BiasBackwardWeight {
  Tensor dy;        // [rows, groups · C]
  Tensor d_bias_C;  // f32, or f64 under f64
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

template <class Operands>
void operands(Operands& w, AddBias& op) {
  w.reads(op.x, op.bias_C);
  w.writes(op.y);
}

template <class Operands>
void operands(Operands& w, BiasBackwardWeight& op) {
  w.reads(op.dy);
}

}  // namespace penstock::layers
