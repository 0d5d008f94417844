#pragma once

#include <cstdint>
#include <vector>

#include "partition/planner/placement/problem.h"

namespace penstock::partition {

/// Returns placements from which a search starts. Some pack pipelines into nodes, others pack the
/// replicas of a stage into nodes, and others deal devices out in order. If devices differ, each is
/// also made with the fastest and with the largest devices first. `random` more follow from `seed`.
std::vector<Placement> initial_solutions(const PlacementProblem& problem, const Grid& grid,
                                         int random, std::uint64_t seed);

}  // namespace penstock::partition
