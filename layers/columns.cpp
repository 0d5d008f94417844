#include "layers/columns.h"

namespace penstock::layers {

std::vector<double> columns(std::span<const double> rows, std::size_t width, std::size_t first,
                            std::size_t count) {
  std::vector<double> found;
  for (std::size_t begin = first; begin + count <= rows.size(); begin += width) {
    const std::span<const double> row = rows.subspan(begin, count);
    found.insert(found.end(), row.begin(), row.end());
  }
  return found;
}

}  // namespace penstock::layers
