#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::runtime {

/// Returns the columns from `first` on of a matrix whose rows have `channels`. ShapeError if its
/// numbers are no whole number of rows, or if no column is left.
[[nodiscard]] std::vector<float> columns_from(std::span<const float> x_FC, std::int64_t channels,
                                              std::int64_t first);

}  // namespace penstock::runtime
