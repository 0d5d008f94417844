#pragma once

#include <cstdint>

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Sinusoids of positions (Vaswani et al. 2017). Row x is of position p = first + x · step:
///   table[x][2c] = sin(p · 10000^(-2c/C)); table[x][2c + 1] = cos(p · 10000^(-2c/C))
/// From 0 on by steps of 1, rows are frames of an utterance. From n - 1 on by steps of -1, 2n - 1
/// rows are the distances of Transformer-XL. Angles are FP64, whatever the table.
struct PositionTable {
  Tensor table_XC;  // out; f32, f64 or a half
  std::int64_t first = 0;
  std::int64_t step = 1;  // 1 | -1
};

}  // namespace penstock::layers
