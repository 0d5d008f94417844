#include "partition/planner/placement/placed_cut.h"

#include <utility>

namespace penstock::partition {

std::optional<PlacedCut> cut_within(const PlacementProblem& problem, Placement placement,
                                    double limit) {
  constexpr double kRounding = 1 + 1e-9;
  auto cut = best_cut(problem.sequence, stage_costs(problem, placement), {.sum = 0, .slowest = 1},
                      {.value = limit * kRounding});
  if (!cut) return std::nullopt;
  return PlacedCut{std::move(placement), *std::move(cut)};
}

}  // namespace penstock::partition
