#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// y = min(max(x, 0), bound). Any equal shapes.
struct ClippedReluForward {
  Tensor x;
  Tensor y;
  double bound = 20;
};

/// dx = dy where 0 < y < bound, else 0: the gradient at both kinks is 0, as PyTorch's hardtanh has
/// it.
struct ClippedReluBackward {
  Tensor y;
  Tensor dy;
  Tensor dx;
  double bound = 20;
};

}  // namespace penstock::layers
