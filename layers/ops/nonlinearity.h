#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Smooth functions of one number, as torch.nn.functional has them. Φ is the standard normal
/// distribution function, σ(x) = 1 / (1 + e^-x):
///   gelu       x · Φ(x) (Hendrycks & Gimpel 2016)
///   gelu_tanh  x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2
///   silu       x · σ(x), also called swish
enum class NonlinearityKind { gelu, gelu_tanh, silu };

/// y = f(x). Any equal shapes.
struct NonlinearityForward {
  NonlinearityKind kind = NonlinearityKind::silu;
  Tensor x;
  Tensor y;
};

/// dx = dy · f'(x)
struct NonlinearityBackward {
  NonlinearityKind kind = NonlinearityKind::silu;
  Tensor x;
  Tensor dy;
  Tensor dx;
};

}  // namespace penstock::layers
