#include "runtime/profiling/trimmed_mean.h"

#include <algorithm>
#include <numeric>

namespace penstock::runtime {

std::vector<double> trimmed_mean(std::vector<std::vector<double>> rows) {
  std::ranges::sort(rows, {}, [](const std::vector<double>& row) {
    return std::accumulate(row.begin(), row.end(), 0.0);
  });
  const std::size_t left_out = rows.size() / 4, end = rows.size() - left_out;
  std::vector<double> means(rows.front().size());
  for (std::size_t r = left_out; r < end; ++r)
    for (std::size_t k = 0; k < means.size(); ++k)
      means[k] += rows[r][k] / static_cast<double>(end - left_out);
  return means;
}

}  // namespace penstock::runtime
