#pragma once

#include <span>

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Normalises channels over real frames (Ioffe & Szegedy 2015). The rows of x hold `groups` times C
/// columns, channels innermost. After a convolution a row is [frequency][channel] and groups are
/// frequencies; else groups is 1. A channel's statistics are over n = rows · groups numbers, and
/// are summed in FP64, whatever the dtype of the data (f32 or f64).
///   z = (x - mean) / √(variance + epsilon) · weight + bias, variance = Σ (x - mean)² / n
/// y is z, or z · σ(z) with `silu`.
struct BatchNormForward {
  Tensor x;         // [rows, groups · C]
  Tensor y;         // same shape as x
  Tensor weight_C;  // dtype of x, or f32 if that is 16-bit
  Tensor bias_C;
  Tensor statistics;       // out, f64 [2, C]: mean; 1 / √(variance + epsilon)
  std::span<double> sums;  // out, host, 1 + 2·C: n; mean of each channel; Σ (x - mean)²; or empty
  double epsilon = 1e-5;
  bool silu = false;
};

/// Normalises as above, with the given statistics instead of the micro-batch's own.
struct BatchNormInference {
  Tensor x;
  Tensor y;
  Tensor weight_C;
  Tensor bias_C;
  Tensor mean_C;  // f32 or f64
  Tensor variance_C;
  double epsilon = 1e-5;
  bool silu = false;
};

/// Computes gradients, with x̂ = (x - mean) / deviation and dz the gradient of z, from dy:
///   reductions = Σ dz; Σ dz · x̂, for each channel
///   dx = weight / deviation · (dz - Σ dz / n - x̂ · Σ (dz · x̂) / n)
struct BatchNormBackwardInput {
  Tensor x;
  Tensor dy;
  Tensor dx;  // without data: only the reductions are computed
  Tensor weight_C;
  Tensor statistics;   // as forward left it
  Tensor reductions;   // out, f64 [2, C]
  Tensor bias_C = {};  // needed with silu
  bool silu = false;
};

/// Adds the gradients of the parameters: d_weight += Σ dz · x̂, d_bias += Σ dz, from the reductions
/// of backward_input.
struct BatchNormBackwardWeight {
  Tensor reductions;
  Tensor d_weight_C;  // f32 or f64
  Tensor d_bias_C;
};

/// Moves running statistics towards those of a step, with n ≥ 2 numbers per channel:
///   state = (1 - momentum) · state + momentum · statistic, variance = Σ (x - mean)² / (n - 1)
struct BatchNormCommit {
  double n = 0;
  std::span<const double> statistics;  // host, [2, C]: mean; Σ (x - mean)²
  Tensor running_mean_C;               // f32 or f64
  Tensor running_variance_C;
  double momentum = 0;
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, BatchNormForward& op) {
  w.reads(op.x);
  w.writes(op.y);
}

template <class Operands>
void operands(Operands& w, BatchNormInference& op) {
  w.reads(op.x);
  w.writes(op.y);
}

template <class Operands>
void operands(Operands& w, BatchNormBackwardInput& op) {
  w.reads(op.x, op.dy);
  w.writes(op.dx);
}

}  // namespace penstock::layers
