#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Normalises each frame over its C channels. Statistics are f32 (f64 under f64), whatever the
/// dtype of the data.
///   centred (LayerNorm, Ba et al. 2016):
///     y = (x - mean) / √(variance + epsilon) · weight + bias, variance = Σ (x - mean)² / C
///   else (RMSNorm, Zhang & Sennrich 2019):
///     y = x / √(Σ x² / C + epsilon) · weight + bias
struct LayerNormForward {
  Tensor x_FC;
  Tensor y_FC;
  Tensor weight_C;       // f32, or f64 under f64
  Tensor bias_C;         // dtype of weight_C; without data: no bias
  Tensor statistics_F2;  // out: mean (0 if not centred); 1 / √(… + epsilon). May have no data
  double epsilon = 1e-5;
  bool centred = true;
};

/// Computes gradients, with x̂ = (x - mean) / deviation, g = dy · weight, and means over the
/// channels of a frame:
///   dx = (g - mean(g) - x̂ · mean(g · x̂)) / deviation; without mean(g) if not centred
///   reductions = Σ dy; Σ dy · x̂ over the frames, for each channel
struct LayerNormBackwardInput {
  Tensor x_FC;
  Tensor dy_FC;
  Tensor dx_FC;  // without data: only the reductions are computed
  Tensor weight_C;
  Tensor statistics_F2;  // as forward left it
  Tensor reductions_2C;  // out, f64
  bool centred = true;
};

/// Adds the gradients of the parameters: d_weight += Σ dy · x̂, d_bias += Σ dy, from the reductions
/// of backward_input.
struct LayerNormBackwardWeight {
  Tensor reductions_2C;
  Tensor d_weight_C;  // f32 or f64
  Tensor d_bias_C;    // without data: no bias
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, LayerNormForward& op) {
  w.reads(op.x_FC);
  w.writes(op.y_FC);
}

template <class Operands>
void operands(Operands& w, LayerNormBackwardInput& op) {
  w.reads(op.x_FC, op.dy_FC);
  w.writes(op.dx_FC);
}

}  // namespace penstock::layers
