#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/sweep/sweep_axis.h"

namespace penstock::tools {

/// The values of a run, one for each axis, as plain text.
using SweepPoint = std::vector<std::string>;

inline constexpr std::int64_t kMostRuns = 10000;  // of a sweep

/// Returns all combinations of the values of lists; those of the last axis change fastest.
/// ConfigError for a range, and for more than kMostRuns combinations.
[[nodiscard]] std::vector<SweepPoint> grid_points(std::span<const SweepAxis> axes);

/// Returns `runs` points for a random search (Bergstra & Bengio, "Random search for
/// hyper-parameter optimization", JMLR 2012). Fewer points of the same axes and seed are the first
/// ones. Lists with up to 100,000 combinations give each combination once; ConfigError if there are
/// fewer than `runs`. Otherwise each value is drawn by itself.
[[nodiscard]] std::vector<SweepPoint> random_points(std::span<const SweepAxis> axes,
                                                    std::int64_t runs, std::uint64_t seed);

}  // namespace penstock::tools
