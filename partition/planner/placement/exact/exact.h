#pragma once

#include <limits>
#include <optional>

#include "base/time_limit.h"
#include "partition/planner/placement/placed_cut.h"

namespace penstock::partition {

/// The result of place_exactly().
struct ExactResult {
  std::optional<PlacedCut> best = {};  // better than `known`; unset: none was found
  bool proven = false;                 // nothing else is better
  std::size_t edges = 0;  // number of edges of the graph; the limit if it was too large
};

/// Limits of place_exactly().
struct ExactEffort {
  double known = std::numeric_limits<double>::infinity();  // value of the best known solution
  std::size_t edges = 4'000'000;                           // most edges of the graph
  const TimeLimit* time = nullptr;
};

/// Returns the best placement and cut of a grid, if it is better than effort.known. Dynamic
/// programmes run over a StageGraph and the layer sequence (GraphSweep). For a step, each round
/// finds the least sum of loads within a limit on loads. The limit starts at the slowest stage that
/// a better solution may have. It then falls below the slowest stage just found, and to where
/// larger sums can't win. The search ends when no cut keeps within it (the ε-constraint method,
/// Haimes et al. 1971). For the bottleneck, the limit falls below each solution found.
ExactResult place_exactly(const PlacementProblem& problem, const Grid& grid,
                          const ExactEffort& effort);

}  // namespace penstock::partition
