#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace penstock {

// These averages of measured times ignore outliers.

/// Returns the middle number, or the mean of the two middle ones; 0 if there is none.
inline double median(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  std::ranges::sort(numbers);
  const std::size_t half = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[half] : (numbers[half - 1] + numbers[half]) / 2;
}

/// Returns the means of the columns, for rows of equal length. The quarter of the rows with the
/// least sums and the quarter with the largest (rounded down) are left out.
inline std::vector<double> trimmed_mean(std::vector<std::vector<double>> rows) {
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

}  // namespace penstock
