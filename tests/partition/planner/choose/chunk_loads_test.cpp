#include "partition/planner/choose/chunk_loads.h"

#include <gtest/gtest.h>

#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

class ChunkLoads : public testing::Test {
 protected:
  const Workload& workload(const PlanChoice& choice) {
    return workloads_.of(choice.batch, choice.replicas);
  }
  std::vector<ChunkCutProblem> loads(PlanChoice choice) {
    choice.batch = problem_.batches.front();
    return chunk_loads(problem_, workload(choice), choice);
  }
  /// Of what leaves a layer of the mean micro-batch.
  double message(int layer, int replicas = 1) {
    const PlanChoice any{.replicas = replicas, .batch = problem_.batches.front()};
    const LinkRates& link = problem_.cluster.node_links.front();
    return link.latency + workload(any).mean.layers[layer].activation_bytes / link.bandwidth;
  }

  LayerSequence sequence_ = test::small_sequence();
  PlanningProblem problem_ = test::planned_sequence(sequence_, 4, 1e9);
  Workloads workloads_{problem_};
};

// Layers take 84, 42, 168 and 126 s of the mean micro-batch of 14 frames.
TEST_F(ChunkLoads, MessagesDelayAStageOrOverlapItsComputing) {
  problem_.cluster.overlap = 0.75;
  problem_.cluster.devices[2].speed = 2;
  const auto ways = loads({.stages = 3, .devices = {{0}, {2}, {1}}});
  ASSERT_EQ(ways.size(), 2u);
  EXPECT_DOUBLE_EQ(ways[0].seconds(0, 2, 0), 126 + 2 * message(1));
  EXPECT_DOUBLE_EQ(ways[0].seconds(2, 3, 1), 84 + 2 * message(1) + 2 * message(2));
  EXPECT_DOUBLE_EQ(ways[1].seconds(0, 2, 0), 126 + 0.25 * message(1));
  EXPECT_DOUBLE_EQ(ways[1].seconds(2, 3, 1), 84 + 0.25 * (message(1) + message(2)));
  EXPECT_DOUBLE_EQ(ways[1].seconds(3, 4, 2), 126 + 0.25 * message(2));
}

TEST_F(ChunkLoads, AStageIsNoFasterThanItsLinks) {
  problem_.cluster.node_links.front().bandwidth = 0.5;
  const auto ways = loads({.stages = 2, .devices = {{0}, {2}}});
  ASSERT_GT(message(1), 420);
  EXPECT_DOUBLE_EQ(ways[1].seconds(0, 2, 0), message(1));
  EXPECT_DOUBLE_EQ(ways[1].seconds(2, 4, 1), message(1));
}

TEST_F(ChunkLoads, LowerBoundsAreNeverAboveLoads) {
  problem_.cluster.devices[1].speed = 3;
  const PlanChoice one_each{.stages = 2, .replicas = 2, .devices = {{0, 1}, {2, 3}}};
  PlanChoice two_each = one_each;
  two_each.schedule = "zb-v";
  for (const PlanChoice& choice : {one_each, two_each})
    for (const ChunkCutProblem& way : loads(choice)) {
      EXPECT_EQ(way.runs, 2);
      for (int chunk = 0; chunk < way.chunks; ++chunk)
        for (int first = 0; first < 4; ++first)
          for (int last = first + 1; last <= 4; ++last) {
            EXPECT_LE(way.work.seconds(first, last, chunk), way.seconds(first, last, chunk));
            EXPECT_GT(way.work.seconds(first, last, chunk),
                      way.work.seconds(first, last - 1, chunk));
          }
    }
}

TEST_F(ChunkLoads, TwoChunksShareAStageOrCountAlone) {
  problem_.cluster.devices[2].speed = 2;
  const auto ways = loads({.stages = 2, .schedule = "zb-v", .devices = {{0}, {2}}});
  EXPECT_EQ(ways[0].rank, (std::vector{0, 1, 1, 0}));
  EXPECT_TRUE(ways[1].rank.empty());
  EXPECT_DOUBLE_EQ(ways[0].seconds(1, 3, 2), 105);
  EXPECT_DOUBLE_EQ(ways[1].seconds(1, 3, 3), 210);
}

}  // namespace
}  // namespace penstock::partition
