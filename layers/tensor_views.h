#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/scratch.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {

// These functions make tensors that are parts of other memory.

/// Views rows [first, first + count) of a matrix, or elements of a vector.
inline Tensor rows(const Tensor& matrix, std::int64_t first, std::int64_t count) {
  Tensor view = matrix;
  view.shape[0] = 1;
  const std::size_t row = view.bytes();
  view.data = static_cast<std::byte*>(matrix.data) + static_cast<std::size_t>(first) * row;
  view.shape[0] = count;
  return view;
}

/// Returns a tensor of the backend's memory, or one without data if `scratch` counts.
inline Tensor tensor_in(Scratch& scratch, DType dtype, const Shape& shape) {
  const std::int64_t bytes = element_count(shape) * static_cast<std::int64_t>(size_of(dtype));
  return {scratch.take<std::byte>(bytes), dtype, shape};
}

}  // namespace penstock::layers
