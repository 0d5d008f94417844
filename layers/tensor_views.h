#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/scratch.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Views rows [first, first + count) of a matrix, or elements of a vector.
inline Tensor rows(const Tensor& matrix, std::int64_t first, std::int64_t count) {
  Tensor view = matrix;
  view.shape[0] = 1;
  const std::size_t row = view.bytes();
  view.data = static_cast<std::byte*>(matrix.data) + static_cast<std::size_t>(first) * row;
  view.shape[0] = count;
  return view;
}

}  // namespace penstock::layers
