#include "partition/planner/placement/exact/exact.h"

#include <algorithm>

#include "partition/planner/cut/limits.h"
#include "partition/planner/placement/bound/bound.h"
#include "partition/planner/placement/exact/graph_sweep.h"

namespace penstock::partition {
namespace {

/// Returns the most that one term of the goal may be in a solution better than `known`. `other` is
/// the least of the other term, `weight` the term's own weight.
double max(double known, double weight, double other) {
  return weight == 0 || known == kInfeasible ? kInfeasible : (known * kBetter - other) / weight;
}

/// Returns lower bounds on sum and slowest load: Bounds::floor(), and the work spread over the
/// fastest devices.
Bounds::Floor floor_of(const PlacementProblem& problem, const Grid& grid) {
  const Bounds bounds(problem);
  const Bounds::Floor floor = bounds.floor(grid);
  const double shared = problem.sequence.work(0, problem.sequence.size()) / bounds.together(grid);
  return {floor.sum * kBetter, std::max(floor.slowest, shared) * kBetter};
}

bool are_alike(const std::vector<LinkRates>& links) {
  return std::ranges::all_of(links, [&](const LinkRates& link) {
    return link.latency == links.front().latency && link.bandwidth == links.front().bandwidth;
  });
}

/// Moves all devices into one node if all links are alike. Equal devices then stand for each other
/// wherever they are, so the graph has far fewer states.
PlacementProblem in_one_node(PlacementProblem problem) {
  Cluster& cluster = problem.cluster;
  const auto& links = cluster.exact_links.empty() ? cluster.node_links : cluster.exact_links;
  if (links.empty() || !are_alike(links)) return problem;
  cluster.node_links = {links.front()};
  cluster.exact_links.clear();
  cluster.nodes.resize(1);
  for (Device& device : cluster.devices) device.node = 0;
  return problem;
}

}  // namespace

ExactResult place_exactly(const PlacementProblem& given, const Grid& grid,
                          const ExactEffort& effort) {
  const PlacementProblem problem = in_one_node(given);
  const Goal goal = goal_of(problem, grid);
  const Bounds::Floor floor = floor_of(problem, grid);
  double known = effort.known, limit = max(known, goal.slowest, goal.sum * floor.sum);
  const auto graph =
      stage_graph(problem, grid, {.slowest = limit, .edges = effort.edges, .time = effort.time});
  if (!graph) return {.edges = effort.edges};
  GraphSweep sweep(problem, *graph);
  ExactResult result{.best = {}, .proven = true, .edges = graph->target.size()};
  // Invariant: every solution better than `known` has loads of at most `limit`. The one found has
  // the least sum of these. So none with as slow a stage is better, and better ones have larger
  // sums.
  for (;;) {
    if (is_over(effort.time)) {
      result.proven = false;
      return result;
    }
    const auto found = sweep.min_sum(
        {.slowest = limit, .sum = max(known, goal.sum, goal.slowest * floor.slowest)});
    if (!found) return result;
    Placement placement = graph->placement(found->path);
    const auto cut =
        best_cut(problem.sequence, stage_costs(problem, placement), goal, {.value = known});
    if (cut && cut->value < known) {
      known = cut->value;
      result.best = PlacedCut{std::move(placement), *cut};
    }
    if (goal.slowest == 0) return result;
    limit = std::min(found->slowest * kBetter, max(known, goal.slowest, goal.sum * found->sum));
  }
}

}  // namespace penstock::partition
