#pragma once

#include <optional>

#include "partition/planner/placement/problem.h"

namespace penstock::partition {

/// A placement with a cut for it.
struct PlacedCut {
  Placement devices;
  Cut cut;
};

/// Returns the placement with its cut of least bottleneck. Returns nothing if that is above `limit`
/// by more than rounding, or if no cut fits into memory.
std::optional<PlacedCut> cut_within(const PlacementProblem& problem, Placement placement,
                                    double limit);

}  // namespace penstock::partition
