#include "runtime/decoding/ctc_columns.h"

#include <fmt/format.h>

#include <cstddef>

#include "base/error.h"

namespace penstock::runtime {

std::vector<float> columns_from(std::span<const float> x_FC, std::int64_t channels,
                                std::int64_t first) {
  const auto width = static_cast<std::size_t>(channels), skipped = static_cast<std::size_t>(first);
  if (channels <= first || x_FC.size() % width != 0)
    throw ShapeError(
        fmt::format("{} numbers are not frames of {} channels, {} of them before CTC's",
                    x_FC.size(), channels, first));
  std::vector<float> columns;
  columns.reserve(x_FC.size() / width * (width - skipped));
  for (std::size_t row = 0; row < x_FC.size(); row += width)
    columns.insert(columns.end(), x_FC.begin() + static_cast<std::ptrdiff_t>(row + skipped),
                   x_FC.begin() + static_cast<std::ptrdiff_t>(row + width));
  return columns;
}

}  // namespace penstock::runtime
