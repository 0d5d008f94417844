#pragma once

#include <optional>

#include "partition/placement/bound.h"
#include "partition/placement/local_search.h"

namespace penstock {

struct ExactResult {
  std::optional<PlacedCut> best;  // better than what was known; nothing: there is none
  double tries_left = 0;          // of the effort; none: not all was seen
  bool proven() const { return tries_left > 0; }
};

struct ExactEffort {
  double known = 0;    // value of the best known solution, or infinite
  double tries = 1e9;  // (first layer, last layer) pairs, at most
};

/// The best cut and placement of a grid, by branch and bound: devices are given to slots stage by
/// stage. For a beginning of a placement the least sum and the least bottleneck of every prefix
/// of the chain are known; with the best that the devices left can make of the rest, poured over
/// them and sent over the best links, they bound what can come of it. Devices that may be exchanged
/// are tried once, and so are replicas, by the order of the first stage's devices.
ExactResult place_exactly(const PlacementProblem& problem, const Bounds& bounds, const Grid& grid,
                          const ExactEffort& effort);

}  // namespace penstock
