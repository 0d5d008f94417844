#include "partition/planner/placement/exact/rate_table.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/partition/tried_placements.h"

namespace penstock::partition {
namespace {

TEST(RateTable, GivesTheLoadsOfAStage) {
  std::mt19937 random(23);
  int compared = 0;
  for (int round = 0; round < 200; ++round) {
    const PlacementProblem problem =
        test::random_instance(random, {.min_devices = 4, .max_devices = 5}).problem();
    if (problem.micro_batches < 2) continue;
    const Grid grid{2, 2};
    const Placement placement{{3, 1}, {0, 2}};
    const auto costs = stage_costs(problem, placement);
    RateTable table(problem, grid);
    const int layers = problem.sequence.size(), cut = (layers + 1) / 2;
    for (int k = 0; k < 2; ++k) {
      const int reduction = table.reduction(placement[k]);
      const int first = k == 0 ? 0 : cut, last = k == 0 ? cut : layers;
      double slowest = 0;
      for (int r = 0; r < 2; ++r) {
        const int before = k == 0 ? -1 : placement[0][r], after = k == 0 ? placement[1][r] : -1;
        const int rate = table.rate(reduction, before, placement[k][r], after);
        EXPECT_EQ(table.rate(reduction, before, placement[k][r], after), rate);
        slowest = std::max(slowest, table.rates()[rate].load(problem.sequence, first, last));
      }
      const double load = costs[k].load(problem.sequence, first, last);
      EXPECT_NEAR(slowest, load, 1e-12 * load);
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(RateTable, HoldsEachRateOnce) {
  PlacementProblem problem{
      .sequence = {{"one", {{.name = "layer", .forward_ms = 1}}}, SequenceLoad::Crossing::bytes},
      .cluster = {},
      .micro_batches = 3};
  problem.cluster.nodes = {"node"};
  problem.cluster.devices.resize(5);
  problem.cluster.node_links = {{.latency = 1, .bandwidth = 5}};
  problem.cluster.devices[4].speed = 2;
  RateTable table(problem, {3, 1});
  const int none = table.reduction({2}), pair = table.reduction({0, 1});
  EXPECT_NE(none, pair);
  EXPECT_EQ(table.reduction({3, 2}), pair);  // links as fast
  const int middle = table.rate(none, 0, 1, 2);
  EXPECT_EQ(table.rate(none, 2, 3, 0), middle);
  EXPECT_NE(table.rate(none, -1, 3, 0), middle);
  EXPECT_NE(table.rate(none, 2, 3, -1), middle);
  EXPECT_NE(table.rate(none, 0, 4, 2), middle);
  EXPECT_NE(table.rate(pair, 0, 1, 2), middle);
  EXPECT_EQ(table.rates().size(), 5u);
}

}  // namespace
}  // namespace penstock::partition
