#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace penstock {

/// Returns the middle number, or the mean of the two middle ones; 0 if there is none.
inline double median(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  std::ranges::sort(numbers);
  const std::size_t half = numbers.size() / 2;
  return numbers.size() % 2 == 1 ? numbers[half] : (numbers[half - 1] + numbers[half]) / 2;
}

}  // namespace penstock
