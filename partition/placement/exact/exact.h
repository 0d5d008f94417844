#pragma once

#include <limits>
#include <optional>

#include "base/time_limit.h"
#include "partition/placement/placed_cut.h"

namespace penstock::partition {

struct ExactResult {
  std::optional<PlacedCut> best = {};  // better than what was known; nothing: there is none
  bool proven = false;                 // that nothing else is better
  std::size_t edges = 0;               // of the graph, as far as it came
};

struct ExactEffort {
  double known = std::numeric_limits<double>::infinity();  // value of the best known solution
  std::size_t edges = 4'000'000;                           // of the graph, at most
  const TimeLimit* time = nullptr;
};

/// The best cut and placement of a grid: dynamic programmes over a StageGraph and the layer
/// sequence. For the bottleneck a solution below the best known is asked for until there is none.
/// For a step the least sum is asked for within a limit on loads, which starts where no better
/// solution can have a slower stage, and each time falls below the slowest stage just found, and to
/// where sums no less could still win, until no cut keeps within it (the ε-constraint method).
ExactResult place_exactly(const PlacementProblem& problem, const Grid& grid,
                          const ExactEffort& effort);

}  // namespace penstock::partition
