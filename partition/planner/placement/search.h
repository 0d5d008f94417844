#pragma once

#include <optional>

#include "partition/planner/placement/heuristics/local_search.h"

namespace penstock::partition {

/// Numbers that the caller fixes; 0 leaves one to the search.
struct GridConstraints {
  int stages = 0, replicas = 0;
};

/// The best grid, placement and cut that a search has found.
struct PlacedSequence {
  Grid grid;
  Placement devices;
  Cut cut;
  double value = 0;  // of the objective: seconds
  double bound = 0;  // lower bound for any grid, placement and cut: seconds
  bool exact() const { return bound >= value; }
  double gap() const { return bound > 0 ? value / bound - 1 : 0; }
};

/// Returns the best placement of all grids that the constraints allow; nothing if none fits. Grids
/// are tried in the order of their lower bounds, until no bound is below the best value found. A
/// grid of few slots is placed exactly (place_exactly), others by heuristics. When effort.time is
/// over, the search returns the best so far with the bound so far, or else the first placement that
/// fits.
[[nodiscard]] std::optional<PlacedSequence> find_placement(const PlacementProblem& problem,
                                                           const GridConstraints& constraints,
                                                           const SearchEffort& effort = {});

/// Returns the first placement found that fits, whatever its value. Returns nothing if none is
/// found before the time is over.
[[nodiscard]] std::optional<PlacedSequence> find_any_placement(const PlacementProblem& problem,
                                                               const GridConstraints& constraints,
                                                               const TimeLimit* time = nullptr);

/// Same as find_placement(), but throws ConfigError if nothing fits. The message names the nearest
/// grid that would fit.
[[nodiscard]] PlacedSequence place_sequence(const PlacementProblem& problem,
                                            const GridConstraints& constraints,
                                            const SearchEffort& effort = {});

}  // namespace penstock::partition
