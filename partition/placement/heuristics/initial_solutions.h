#pragma once

#include <cstdint>
#include <vector>

#include "partition/placement/problem.h"

namespace penstock::partition {

/// Placements to begin a search from: pipelines within nodes as far as they fit, the replicas of a
/// stage within nodes as far as they fit, both also with the fastest and with the largest devices
/// first where devices differ, and `random` others that follow from `seed`.
std::vector<Placement> initial_solutions(const PlacementProblem& problem, const Grid& grid,
                                         int random, std::uint64_t seed);

}  // namespace penstock::partition
