#pragma once

#include <cstdint>
#include <optional>

#include "base/time_limit.h"
#include "partition/planner/placement/placed_cut.h"

namespace penstock::partition {

/// Returns a placement and cut with a good bottleneck, below `below` seconds; nothing if none is
/// found. There are no replicas, and the number of stages is free.
///
/// For a limit on loads, it samples pipelines of runs (RunCount) and packs their runs into nodes:
/// longest runs first, each into the node with the fewest free devices that it fits into (best-fit
/// decreasing). min_limit() finds the least limit. The result depends on `seed` alone. Limits
/// that would take more than about 10⁸ steps are left out.
std::optional<PlacedCut> pack_runs(const PlacementProblem& problem, double below,
                                   std::uint64_t seed, const TimeLimit* time = nullptr);

}  // namespace penstock::partition
