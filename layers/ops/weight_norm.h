#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Computes the weight normalisation of a 1-D convolution, with a norm for each tap, as
/// torch.nn.utils.parametrizations.weight_norm(dim=2) does (Salimans & Kingma 2016):
///   ‖v‖_k = √(Σ_oc v_ock²);  w_ock = g_k · v_ock / ‖v‖_k
struct WeightNormForward {
  Tensor v_OCK;
  Tensor g_K;  // f32, or f64 under f64
  Tensor w_OCK;
};

/// Adds gradients of v and g, from the gradient of w. All three are f32, or f64 under f64:
///   a_k = Σ_oc dw_ock · v_ock / ‖v‖_k
///   dg_k += a_k;  dv_ock += g_k / ‖v‖_k · (dw_ock - a_k · v_ock / ‖v‖_k)
struct WeightNormBackward {
  Tensor v_OCK;
  Tensor g_K;
  Tensor dw_OCK;
  Tensor dv_OCK, dg_K;
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, WeightNormForward& op) {
  w.reads(op.v_OCK);
  w.writes(op.w_OCK);
}

template <class Operands>
void operands(Operands& w, WeightNormBackward& op) {
  w.reads(op.v_OCK);
}

}  // namespace penstock::layers
