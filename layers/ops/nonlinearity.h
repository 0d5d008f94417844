#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Smooth functions of one number, as in torch.nn.functional. Φ is the standard normal distribution
/// function, and σ(x) = 1 / (1 + e^-x):
///   gelu       x · Φ(x) (Hendrycks & Gimpel 2016)
///   gelu_tanh  x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2
///   silu       x · σ(x), also called swish
enum class NonlinearityKind { gelu, gelu_tanh, silu };

/// Computes y = f(x). Shapes are equal, and arbitrary.
struct NonlinearityForward {
  NonlinearityKind kind = NonlinearityKind::silu;
  Tensor x;
  Tensor y;
};

/// Computes dx = dy · f'(x).
struct NonlinearityBackward {
  NonlinearityKind kind = NonlinearityKind::silu;
  Tensor x;
  Tensor dy;
  Tensor dx;
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, NonlinearityForward& op) {
  w.reads(op.x);
  w.writes(op.y);
}

template <class Operands>
void operands(Operands& w, NonlinearityBackward& op) {
  w.reads(op.x, op.dy);
  w.writes(op.dx);
}

}  // namespace penstock::layers
