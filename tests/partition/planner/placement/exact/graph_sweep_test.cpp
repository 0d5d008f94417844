#include "partition/planner/placement/exact/graph_sweep.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "partition/planner/cut/limits.h"
#include "tests/support/partition/tried_placements.h"

namespace penstock::partition {
namespace {

/// The least sum of loads, none above `slowest`, of any cut for given stages.
double min_of_cuts(const PlacementProblem& problem, const std::vector<StageCost>& stages,
                   std::size_t stage, int first, double slowest) {
  const int layers = problem.sequence.size();
  if (stage == stages.size()) return first == layers ? 0 : kInfeasible;
  double min = kInfeasible;
  for (int last = first + 1; last <= layers; ++last) {
    const double load = stages[stage].load(problem.sequence, first, last);
    if (load > slowest || !stages[stage].fits(problem.sequence, first, last)) continue;
    min = std::min(min, load + min_of_cuts(problem, stages, stage + 1, last, slowest));
  }
  return min;
}

/// The same over all placements of a grid.
double min_sum(const PlacementProblem& problem, const Grid& grid, double slowest) {
  std::vector<int> order(problem.cluster.size());
  for (int i = 0; i < problem.cluster.size(); ++i) order[i] = i;
  double min = kInfeasible;
  do {
    Placement placement(grid.stages);
    for (int slot = 0; slot < grid.slots(); ++slot)
      placement[slot / grid.replicas].push_back(order[slot]);
    min = std::min(min, min_of_cuts(problem, stage_costs(problem, placement), 0, 0, slowest));
  } while (std::ranges::next_permutation(order).found);
  return min;
}

TEST(GraphSweep, FindsTheLeastSumWithinALoadLimit) {
  std::mt19937 random(17);
  int found_some = 0, none = 0, limited = 0;
  for (int round = 0; round < 120; ++round) {
    const test::Instance instance =
        test::random_instance(random, {.max_layers = 6, .max_devices = 4});
    const PlacementProblem problem = instance.problem();
    for (int stages = 1; stages <= std::min(problem.cluster.size(), problem.sequence.size());
         ++stages) {
      const Grid grid{stages, std::min(problem.cluster.size() / stages, problem.micro_batches)};
      const double free = min_sum(problem, grid, kInfeasible);
      for (const double slowest : {kInfeasible, 0.6 * free}) {
        const double wanted = slowest == kInfeasible ? free : min_sum(problem, grid, slowest);
        const auto graph = stage_graph(problem, grid, {.slowest = slowest, .edges = 1'000'000});
        ASSERT_TRUE(graph);
        GraphSweep sweep(problem, *graph);
        const auto cut = sweep.min_sum({.slowest = slowest, .sum = kInfeasible});
        ASSERT_EQ(cut.has_value(), wanted < kInfeasible) << round << ": " << stages;
        if (!cut) {
          ++none;
          continue;
        }
        ++found_some;
        limited += slowest < kInfeasible && wanted > free * (1 + 1e-9);
        EXPECT_NEAR(cut->sum, wanted, 1e-9 * wanted) << round << ": " << stages;
        EXPECT_LE(cut->slowest, slowest * (1 + 1e-12));
        const auto costs = stage_costs(problem, graph->placement(cut->path));
        EXPECT_NEAR(min_of_cuts(problem, costs, 0, 0, slowest), wanted, 1e-9 * wanted);
        EXPECT_FALSE(sweep.min_sum({.slowest = slowest, .sum = 0.99 * wanted}));
      }
    }
  }
  EXPECT_GT(found_some, 100);
  EXPECT_GT(none, 20);
  EXPECT_GT(limited, 5);
}

TEST(GraphSweep, FindsTheSameInWhateverOrderOfLimits) {
  std::mt19937 random(20);
  int found = 0;
  for (int round = 0; round < 200; ++round) {
    const test::Instance instance =
        test::random_instance(random, {.max_layers = 8, .max_devices = 5});
    const PlacementProblem problem = instance.problem();
    const Grid grid{std::min(problem.cluster.size(), problem.sequence.size()), 1};
    const auto graph = stage_graph(problem, grid, {.slowest = kInfeasible, .edges = 1'000'000});
    ASSERT_TRUE(graph);
    GraphSweep sweep(problem, *graph);
    const auto free = sweep.min_sum({.slowest = kInfeasible, .sum = kInfeasible});
    if (!free) continue;
    for (const double share : {1.0, 0.9, 0.7, 0.6, 0.8, 0.5}) {
      const GraphCutLimits limits{.slowest = share * free->slowest, .sum = 1.2 * free->sum};
      const auto cut = sweep.min_sum(limits);
      const auto wanted = GraphSweep(problem, *graph).min_sum(limits);
      ASSERT_EQ(cut.has_value(), wanted.has_value()) << round << ": " << share;
      if (!cut) continue;
      ++found;
      EXPECT_EQ(cut->path, wanted->path);
      EXPECT_EQ(cut->sum, wanted->sum);
    }
  }
  EXPECT_GT(found, 200);
}

}  // namespace
}  // namespace penstock::partition
