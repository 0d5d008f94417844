#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace penstock::layers {

/// Adds Σ over rows of x[row · stride + c] to sums[c], for each of `columns`: the gradient of a
/// bias.
template <class T>
void add_column_sums(const T* x, std::int64_t rows, std::int64_t columns, std::int64_t stride,
                     T* sums) {
  constexpr std::int64_t kBlock = 256;  // columns whose sums stay in the first-level cache
  for (std::int64_t first = 0; first < columns; first += kBlock) {
    const std::int64_t width = std::min(kBlock, columns - first);
    std::array<T, kBlock> block{};
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t c = 0; c < width; ++c) block[c] += x[row * stride + first + c];
    for (std::int64_t c = 0; c < width; ++c) sums[first + c] += block[c];
  }
}

}  // namespace penstock::layers
