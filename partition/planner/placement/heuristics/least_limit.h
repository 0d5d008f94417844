#pragma once

#include <algorithm>
#include <optional>

namespace penstock::partition {

/// The range of limits in which to look for the least feasible one.
struct LimitRange {
  double min = 0;    // lower bound on feasible limits
  double below = 0;  // limits from here on are of no interest
};

/// Returns the least value that `finds(limit)` reaches, to a thousandth. finds() returns the value
/// of a solution within the limit, or nothing. Limits double from range.least on until it succeeds;
/// then they are bisected. Returns nothing if it fails up to 16 times range.least.
template <class Finds>
std::optional<double> min_limit(const LimitRange& range, Finds finds) {
  constexpr double kHighest = 16, kCloseEnough = 1 + 1e-3;
  const double highest = std::min(range.below, kHighest * range.min);
  std::optional<double> found;
  double low = range.min;
  while (!found) {  // invariant: nothing was found within `low`
    if (low >= highest) return std::nullopt;
    const double high = std::min(2 * low, highest);
    found = finds(high);
    if (!found) low = high;
  }
  while (*found > low * kCloseEnough) {  // still so; *found is the least value
    const double middle = (low + *found) / 2;
    if (const std::optional<double> lower = finds(middle))
      found = lower;
    else
      low = middle;
  }
  return found;
}

}  // namespace penstock::partition
