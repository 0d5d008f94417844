#pragma once

#include <bit>
#include <cstdint>

namespace penstock::layers::cuda {

/// Returns the end of the bucket of row counts that `rows` ≥ 0 falls into: at least `rows`, and at
/// most an eighth more. There are eight buckets between two powers of two. What is chosen once for
/// a bucket depends on its end alone, and not on which of its row counts came first.
constexpr std::int64_t bucket_of(std::int64_t rows) {
  const int bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows)));
  const std::int64_t step = std::int64_t{1} << (bits > 4 ? bits - 4 : 0);
  return (rows + step - 1) / step * step;
}

}  // namespace penstock::layers::cuda
