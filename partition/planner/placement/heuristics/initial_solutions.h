#pragma once

#include <cstdint>
#include <vector>

#include "partition/planner/placement/problem.h"

namespace penstock::partition {

/// Returns placements from which a search starts. One packs each replica's pipeline into nodes, so
/// that few messages cross them. With several replicas, one deals devices out stage by stage, so
/// that a stage's replicas share nodes. `random` more follow from `seed`.
std::vector<Placement> initial_solutions(const PlacementProblem& problem, const Grid& grid,
                                         int random, std::uint64_t seed);

}  // namespace penstock::partition
