#include "tools/sweep/sweep_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/error.h"
#include "runtime/data/index/stream_hash.h"

// A value of a random search depends on the seed, the run's number and the key's name alone: each
// triple is hashed to 64 bits of its own (XXH3). So a sweep may grow, stop and resume, and its runs
// may be drawn in any order or on any machine. Combinations of lists are shuffled as a whole: each
// gets 64 random bits by its number, and those with the least bits come first. The first N of 2N
// are therefore the points of N, and none comes twice.
//
// Real numbers are rounded, which also hides differences between mathematical libraries: to 4
// digits on a logarithmic range, to 6 on a linear one, and to more where these would leave fewer
// than 100 steps of the range. They stay within the range.

namespace penstock::tools {
namespace {

constexpr std::int64_t kMostShuffled = 100000;  // combinations

/// Returns the number of combinations of lists, or nothing for ranges, and above `most`.
std::optional<std::int64_t> count_combinations(std::span<const SweepAxis> axes, std::int64_t most) {
  std::int64_t count = 1;
  for (const SweepAxis& axis : axes) {
    if (axis.is_range()) return std::nullopt;
    count *= static_cast<std::int64_t>(axis.values.size());
    if (count > most) return std::nullopt;
  }
  return count;
}

/// Returns a combination by its number, which counts the last axis fastest.
SweepPoint combination(std::span<const SweepAxis> axes, std::int64_t number) {
  SweepPoint point(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto size = static_cast<std::int64_t>(axes[i].values.size());
    point[i] = axes[i].values[static_cast<std::size_t>(number % size)];
    number /= size;
  }
  return point;
}

/// Returns 64 bits that depend on the seed, a number and a name. The name is last, so that no two
/// triples are one text.
std::uint64_t random_bits(std::uint64_t seed, std::int64_t number, const std::string& name) {
  return runtime::hash_of(fmt::format("sweep {} {} {}", seed, number, name));
}

/// Returns a number from 0 to below 1 from 64 random bits.
double unit_number(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

/// Returns how many digits the numbers of a range have: `least`, or as many as divide it into 100
/// equal steps.
int digits_of_range(const SweepAxis& axis, int least) {
  const double largest = std::max(std::abs(axis.low), std::abs(axis.high));
  const double before = std::floor(std::log10(largest)) + 1;
  const double after = std::ceil(2 - std::log10(axis.high - axis.low));
  return std::clamp(static_cast<int>(before + after), least, 17);
}

std::string drawn_real(const SweepAxis& axis, double unit) {
  const double low = axis.logarithmic ? std::log(axis.low) : axis.low;
  const double high = axis.logarithmic ? std::log(axis.high) : axis.high;
  const double value = low + unit * (high - low);
  const int digits = digits_of_range(axis, axis.logarithmic ? 4 : 6);
  const std::string text =
      fmt::format("{:.{}g}", axis.logarithmic ? std::exp(value) : value, digits);
  const double rounded = std::strtod(text.c_str(), nullptr);
  const double inside = std::clamp(rounded, axis.low, axis.high);
  return inside == rounded ? text : fmt::format("{}", inside);
}

// On a logarithmic range, a whole number has the share of the numbers that round to it.
std::string drawn_whole(const SweepAxis& axis, double unit) {
  double value = axis.low + std::floor(unit * (axis.high - axis.low + 1));
  if (axis.logarithmic) {
    const double low = std::log(axis.low - 0.5), high = std::log(axis.high + 0.5);
    value = std::round(std::exp(low + unit * (high - low)));
  }
  return fmt::format("{}", static_cast<std::int64_t>(std::clamp(value, axis.low, axis.high)));
}

std::string drawn_value(const SweepAxis& axis, std::uint64_t seed, std::int64_t run) {
  const double unit = unit_number(random_bits(seed, run, axis.key));
  if (axis.is_range()) return axis.whole ? drawn_whole(axis, unit) : drawn_real(axis, unit);
  const auto size = static_cast<double>(axis.values.size());
  return axis.values[static_cast<std::size_t>(unit * size)];
}

std::vector<SweepPoint> shuffled_points(std::span<const SweepAxis> axes, std::int64_t combinations,
                                        std::int64_t runs, std::uint64_t seed) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> order;
  for (std::int64_t i = 0; i < combinations; ++i)
    order.emplace_back(random_bits(seed, i, "combination"), i);
  std::ranges::sort(order);
  std::vector<SweepPoint> points;
  for (std::int64_t i = 0; i < runs; ++i)
    points.push_back(combination(axes, order[static_cast<std::size_t>(i)].second));
  return points;
}

}  // namespace

std::vector<SweepPoint> grid_points(std::span<const SweepAxis> axes) {
  for (const SweepAxis& axis : axes)
    if (axis.is_range())
      throw ConfigError(fmt::format(
          "{}={} is a range, of which a grid has no points: add --runs N for a random search, or "
          "list values, such as {}=1,2,3",
          axis.key, axis.written, axis.key));
  const auto count = count_combinations(axes, kMostRuns);
  if (!count)
    throw ConfigError(fmt::format(
        "the lists have more than {} combinations: leave values out, or add --runs N for a random "
        "search",
        kMostRuns));
  std::vector<SweepPoint> points;
  for (std::int64_t i = 0; i < *count; ++i) points.push_back(combination(axes, i));
  return points;
}

std::vector<SweepPoint> random_points(std::span<const SweepAxis> axes, std::int64_t runs,
                                      std::uint64_t seed) {
  if (const auto combinations = count_combinations(axes, kMostShuffled)) {
    if (*combinations < runs)
      throw ConfigError(fmt::format(
          "--runs {}: the lists have {} combinations: ask for as many, or leave --runs out", runs,
          *combinations));
    return shuffled_points(axes, *combinations, runs, seed);
  }
  std::vector<SweepPoint> points;
  for (std::int64_t run = 0; run < runs; ++run) {
    SweepPoint& point = points.emplace_back();
    for (const SweepAxis& axis : axes) point.push_back(drawn_value(axis, seed, run));
  }
  return points;
}

}  // namespace penstock::tools
