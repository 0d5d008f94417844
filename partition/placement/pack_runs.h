#pragma once

#include <optional>

#include "partition/placement/local_search.h"

namespace penstock {

/// A good placement with its cut for the bottleneck, of a pipeline without replicas and with as
/// many stages as suit it, whose load is below `below` seconds; nothing where none is found.
///
/// For a limit on loads, pipelines of runs (RunCount) are drawn, and their runs packed into nodes,
/// the longest first and each into the fullest node that it fits; the limit is halved in between
/// where one fits. Follows from `seed` alone.
std::optional<PlacedCut> pack_runs(const PlacementProblem& problem, double below,
                                   std::uint64_t seed);

}  // namespace penstock
