#pragma once

#include <cstdint>
#include <optional>

#include "base/time_limit.h"
#include "partition/placement/placed_cut.h"

namespace penstock::partition {

/// A good placement with its cut for the bottleneck, of a pipeline without replicas and with as
/// many stages as suit it, whose load is below `below` seconds; nothing where none is found.
///
/// For a limit on loads, pipelines of runs (RunCount) are sampled, and their runs packed into
/// nodes, the longest first and each into the node whose free devices it fits tightest; the least
/// limit with which one fits is looked for (least_limit). Follows from `seed` alone. Limits that
/// would take more than about 10⁸ steps are left out.
std::optional<PlacedCut> pack_runs(const PlacementProblem& problem, double below,
                                   std::uint64_t seed, const TimeLimit* time = nullptr);

}  // namespace penstock::partition
