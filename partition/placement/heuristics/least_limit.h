#pragma once

#include <algorithm>
#include <optional>

namespace penstock::partition {

/// Where to look for the least limit that something is found within.
struct LimitRange {
  double least = 0;  // below which nothing is
  double below = 0;  // of which nothing is of interest from there on
};

/// Calls `finds(limit)` with limits in the range, doubled from the least one on until it gives what
/// it found within the limit, then in between to a thousandth. Gives the least that it found;
/// nothing where it never does up to 16 times the least.
template <class Finds>
std::optional<double> least_limit(const LimitRange& range, Finds finds) {
  constexpr double kHighest = 16, kCloseEnough = 1 + 1e-3;
  const double highest = std::min(range.below, kHighest * range.least);
  std::optional<double> found;
  double low = range.least;
  while (!found) {  // nothing was found within `low`
    if (low >= highest) return std::nullopt;
    const double high = std::min(2 * low, highest);
    found = finds(high);
    if (!found) low = high;
  }
  while (*found > low * kCloseEnough) {  // that is still so; *found is the least that was
    const double middle = (low + *found) / 2;
    if (const std::optional<double> lower = finds(middle))
      found = lower;
    else
      low = middle;
  }
  return found;
}

}  // namespace penstock::partition
