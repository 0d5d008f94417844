#pragma once

#include <cstdint>
#include <optional>

#include "base/time_limit.h"
#include "partition/placement/placed_cut.h"

namespace penstock::partition {

struct SearchEffort {
  int random_starts = 2;
  int moves = 4000;  // tried from each start
  std::uint64_t seed = 1;
  const TimeLimit* time = nullptr;
  bool proves = true;  // few slots are placed exactly, and bounds raised; else the bound may be 0
};

/// A good placement with its best cut: from every start, devices of two slots are exchanged, or one
/// with a free device, or all of two stages', wherever that makes the goal better for the cut at
/// hand, then the cut is made anew for the placement, until neither helps. Follows from the seed
/// alone. Ends early at `bound`, which none can beat, and where time is over with the best so far;
/// nothing where no start has a cut in memory.
std::optional<PlacedCut> search_placement(const PlacementProblem& problem, const Grid& grid,
                                          const SearchEffort& effort, double bound);

/// The same from one start.
std::optional<PlacedCut> search_from(const PlacementProblem& problem, Placement start,
                                     const SearchEffort& effort);

}  // namespace penstock::partition
