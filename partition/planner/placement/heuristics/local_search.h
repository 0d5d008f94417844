#pragma once

#include <cstdint>
#include <optional>

#include "base/time_limit.h"
#include "partition/planner/placement/placed_cut.h"

namespace penstock::partition {

/// The effort of a placement search.
struct SearchEffort {
  int random_starts = 2;
  int moves = 4000;  // tried from each start
  std::uint64_t seed = 1;
  const TimeLimit* time = nullptr;
  bool proves = true;  // places few slots exactly and raises bounds; else the bound may be 0
};

/// Returns a good placement with its best cut, by local search from several starts. For a fixed cut
/// it exchanges two slots' devices, a slot's device for a free one, or all devices of two stages.
/// It keeps an exchange if that lowers the goal. It then cuts the new placement, and repeats until
/// neither helps. The result depends on the seed alone. The search ends early near `bound`, a lower
/// bound on the value, and with the best so far when time is over. Returns nothing if no start has
/// a cut that fits into memory.
std::optional<PlacedCut> search_placement(const PlacementProblem& problem, const Grid& grid,
                                          const SearchEffort& effort, double bound);

/// The same from one given start.
std::optional<PlacedCut> search_from(const PlacementProblem& problem, Placement start,
                                     const SearchEffort& effort);

}  // namespace penstock::partition
