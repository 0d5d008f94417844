#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// y = x + scale · f, of equal shapes; y may be x or f. Without data in x: y = scale · f.
struct AddScaled {
  Tensor x;
  Tensor f;
  Tensor y;
  double scale = 1;
};

}  // namespace penstock::layers
