#pragma once

#include <optional>

#include "partition/placement/problem.h"

namespace penstock::partition {

struct PlacedCut {
  Placement devices;
  Cut cut;
};

/// The placement with its cut of least bottleneck; nothing where that is above `limit` by more than
/// rounding, or none fits in memory.
std::optional<PlacedCut> cut_within(const PlacementProblem& problem, Placement placement,
                                    double limit);

}  // namespace penstock::partition
