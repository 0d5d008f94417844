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

}  // namespace penstock::layers
