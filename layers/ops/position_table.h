#pragma once

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Sinusoids of distances, as Transformer-XL and Conformers have them (Vaswani et al. 2017). Of X =
/// 2n - 1 rows, row x is of distance p = n - 1 - x:
///   table[x][2c] = sin(p · 10000^(-2c/C)); table[x][2c + 1] = cos(p · 10000^(-2c/C))
struct PositionTable {
  Tensor table_XC;  // out; f32, f64 or a half
};

}  // namespace penstock::layers
