#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Kind of a gated linear unit. In a row of D = 2 · C numbers, the first C are a and the last C are
/// b:
///   glu     y = a · σ(b) (Dauphin et al. 2017), torch.nn.functional.glu
///   swiglu  y = silu(a) · b (Shazeer 2020)
enum class GateKind { glu, swiglu };

struct GateForward {
  GateKind kind = GateKind::glu;
  Tensor x_FD;
  Tensor y_FC;
};

/// Computes both halves of dx from dy and the halves of x.
struct GateBackward {
  GateKind kind = GateKind::glu;
  Tensor x_FD;
  Tensor dy_FC;
  Tensor dx_FD;
};

}  // namespace penstock::layers
