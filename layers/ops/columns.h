#pragma once

#include <cstdint>

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Converts columns of one matrix into columns of another, as Cast converts numbers. Other columns
/// of `to` stay as they are. Both have equally many rows and do not overlap; f32, f64, f16, bf16.
/// ShapeError for columns that a matrix lacks.
struct CastColumns {
  Tensor from_FA;
  Tensor to_FB;
  std::int64_t columns = 0;
  std::int64_t first_from = 0, first_to = 0;
};

/// Raises the ShapeError above. Every backend calls it first.
void expect_columns(const CastColumns& op);

}  // namespace penstock::layers
