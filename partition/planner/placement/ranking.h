#pragma once

#include <cstddef>
#include <vector>

#include "partition/planner/placement/heuristics/local_search.h"

namespace penstock::partition {

/// Options of rank_placements().
struct RankingOptions {
  std::size_t count = 1;   // most placements to return
  std::size_t all = 5040;  // most placements for which all are tried
  SearchEffort effort = {};
};

/// Returns distinct placements of a grid, each with its best cut, sorted by value. Placements are
/// distinct up to Symmetry and the order of replicas. If there are more than options.all, only some
/// are tried: the results of local search from several seeds, and all exchanges of two devices in
/// the best of these. Placements without a cut that fits into memory are left out.
[[nodiscard]] std::vector<PlacedCut> rank_placements(const PlacementProblem& problem,
                                                     const Grid& grid,
                                                     const RankingOptions& options);

}  // namespace penstock::partition
