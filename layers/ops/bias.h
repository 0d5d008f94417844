#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

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
void operands(Operands& w, AddBias& op) {
  w.reads(op.x, op.bias_C);
  w.writes(op.y);
}

template <class Operands>
void operands(Operands& w, BiasBackwardWeight& op) {
  w.reads(op.dy);
}

}  // namespace penstock::layers
