#pragma once

#include <cstdint>

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Computes sinusoids of positions (Vaswani et al. 2017). Row x is that of position p = first + x ·
/// step:
///   table[x][2c] = sin(p · 10000^(-2c/C)); table[x][2c + 1] = cos(p · 10000^(-2c/C))
/// With first 0 and step 1, rows are frames of an utterance. With first n - 1 and step -1, 2n - 1
/// rows are the distances of Transformer-XL. Angles are FP64, whatever the dtype of the table.
struct PositionTable {
  Tensor table_XC;  // out; f32, f64 or a 16-bit dtype
  std::int64_t first = 0;
  std::int64_t step = 1;  // 1 or -1
};

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, PositionTable& op) {
  w.writes(op.table_XC);
}

}  // namespace penstock::layers
