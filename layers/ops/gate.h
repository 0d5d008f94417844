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

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, GateForward& op) {
  w.reads(op.x_FD);
  w.writes(op.y_FC);
}

template <class Operands>
void operands(Operands& w, GateBackward& op) {
  w.reads(op.x_FD, op.dy_FC);
  w.writes(op.dx_FD);
}

}  // namespace penstock::layers
