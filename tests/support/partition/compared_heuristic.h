#pragma once

#include "partition/planner/placement/placed_cut.h"
#include "tests/support/partition/tried_placements.h"

namespace penstock::test {

/// How a heuristic for the bottleneck does beside the exact search, over many instances.
struct ComparedHeuristic {
  int compared = 0, best = 0;  // best: as good as the exact search's

  /// Counts what it found for the instance, with so many replicas. Expects that this fits into
  /// memory, takes what it says, and is not below the best.
  void add(const Instance& instance, int replicas, const partition::PlacedCut& placed);
};

}  // namespace penstock::test
