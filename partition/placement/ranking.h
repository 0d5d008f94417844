#pragma once

#include <cstddef>
#include <vector>

#include "partition/placement/heuristics/local_search.h"

namespace penstock::partition {

struct RankingOptions {
  std::size_t count = 1;   // of placements wanted, at most
  std::size_t all = 5040;  // so many placements are all tried; of more, those around the best found
  SearchEffort effort = {};
};

/// Distinct placements of a grid, each with its best cut, by value: which devices may be exchanged
/// without changing anything makes no difference, nor does the order of replicas. Where there are
/// more than options.all, these are what local search finds from several seeds, and whatever an
/// exchange of two devices makes of the best of them. Those that fit nowhere in memory are left
/// out.
[[nodiscard]] std::vector<PlacedCut> rank_placements(const PlacementProblem& problem,
                                                     const Grid& grid,
                                                     const RankingOptions& options);

}  // namespace penstock::partition
