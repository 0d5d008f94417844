#pragma once

#include <optional>

#include "partition/placement/heuristics/local_search.h"

namespace penstock::partition {

/// What a caller fixes of the grid; 0: the search's choice.
struct GridConstraints {
  int stages = 0, replicas = 0;
};

/// The best that was found of all grids, cuts and placements.
struct PlacedSequence {
  Grid grid;
  Placement devices;
  Cut cut;
  double value = 0;  // the objective, seconds
  double bound = 0;  // no grid, cut or placement is below
  bool exact() const { return bound >= value; }
  double gap() const { return bound > 0 ? value / bound - 1 : 0; }
};

/// Tries grids from the one with the lowest bound, until no other's bound is below the best found.
/// A grid of few slots is placed exactly (place_exactly), others by local search. Where effort.time
/// is over, the best so far with the bound so far; if there is none yet, the first that is found.
/// Nothing where nothing fits.
[[nodiscard]] std::optional<PlacedSequence> find_placement(const PlacementProblem& problem,
                                                           const GridConstraints& constraints,
                                                           const SearchEffort& effort = {});

/// Whatever placement fits first, without a look at its value; nothing where none is found, or the
/// time is over before one is.
[[nodiscard]] std::optional<PlacedSequence> find_any_placement(const PlacementProblem& problem,
                                                               const GridConstraints& constraints,
                                                               const TimeLimit* time = nullptr);

/// As find_placement(). ConfigError where nothing fits, with the nearest that would.
[[nodiscard]] PlacedSequence place_sequence(const PlacementProblem& problem,
                                            const GridConstraints& constraints,
                                            const SearchEffort& effort = {});

}  // namespace penstock::partition
