#include "partition/placement/exact/exact.h"

#include <algorithm>

#include "partition/cut/limits.h"
#include "partition/placement/exact/graph_sweep.h"

namespace penstock::partition {
namespace {

/// What no better solution exceeds: its slowest stage given that its sum is at least `sum`, and the
/// reverse.
double most(double known, double weight, double other) {
  return weight == 0 || known == kNever ? kNever : (known * kWorthwhile - other) / weight;
}

/// No cut is faster: its sum where the fastest device does everything, its slowest stage where all
/// devices share the work.
struct Floor {
  explicit Floor(const PlacementProblem& problem) {
    double together = 0, fastest = 0;
    for (const Device& device : problem.cluster.devices) {
      together += device.speed;
      fastest = std::max(fastest, device.speed);
    }
    const double work = problem.sequence.work(0, problem.sequence.size()) * kWorthwhile;
    sum = work / fastest;
    slowest = work / together;
  }
  double sum = 0, slowest = 0;
};

}  // namespace

ExactResult place_exactly(const PlacementProblem& problem, const Grid& grid,
                          const ExactEffort& effort) {
  const Goal goal = goal_of(problem, grid);
  const Floor floor(problem);
  double known = effort.known, limit = most(known, goal.slowest, goal.sum * floor.sum);
  const auto graph =
      stage_graph(problem, grid, {.slowest = limit, .edges = effort.edges, .time = effort.time});
  if (!graph) return {.edges = effort.edges};
  GraphSweep sweep(problem, *graph);
  ExactResult result{.best = {}, .proven = true, .edges = graph->target.size()};
  // Every solution better than `known` has loads of at most `limit`. Of all that do, the found one
  // has the least sum: none that is as slow is better, and none that is better has a smaller sum.
  for (;;) {
    if (is_over(effort.time)) {
      result.proven = false;
      return result;
    }
    const auto found = sweep.least_sum(
        {.slowest = limit, .sum = most(known, goal.sum, goal.slowest * floor.slowest)});
    if (!found) return result;
    Placement placement = graph->placement(found->path);
    const auto cut =
        best_cut(problem.sequence, stage_costs(problem, placement), goal, {.value = known});
    if (cut && cut->value < known) {
      known = cut->value;
      result.best = PlacedCut{std::move(placement), *cut};
    }
    if (goal.slowest == 0) return result;
    limit =
        std::min(found->slowest * kWorthwhile, most(known, goal.slowest, goal.sum * found->sum));
  }
}

}  // namespace penstock::partition
