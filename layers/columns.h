#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace penstock::layers {

/// Returns columns [first, first + count) of rows of `width` numbers, row by row.
[[nodiscard]] std::vector<double> columns(std::span<const double> rows, std::size_t width,
                                          std::size_t first, std::size_t count);

}  // namespace penstock::layers
