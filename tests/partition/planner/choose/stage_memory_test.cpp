#include "partition/planner/choose/stage_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

TEST(StageMemory, SumsChunksWithinTheSmallestDevice) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = test::planned_sequence(sequence, 4, 1000);
  problem.cluster.margin = 0.25;
  problem.cluster.devices[3].memory = 800;
  PlanChoice choice{.stages = 2, .replicas = 2, .batch = {4, 4}, .devices = {{0, 3}, {1, 2}}};
  const StageMemory memory(problem, choice);
  EXPECT_EQ(memory.limit(0), 600);
  EXPECT_EQ(memory.limit(1), 750);
  const ChunkBytes bytes = problem.bytes(choice);
  EXPECT_EQ(memory.of_stages({0, 1, 4}),
            (std::vector{static_cast<double>(bytes(0, 1, 0).total()),
                         static_cast<double>(bytes(1, 4, 1).total())}));
  EXPECT_EQ(memory.too_full({0, 1, 4}), 1);
}

TEST(StageMemory, FindsTheLeastFullCut) {
  const LayerSequence sequence = test::small_sequence();
  const PlanningProblem problem = test::planned_sequence(sequence, 2, 1e6);
  const PlanChoice choice{.stages = 2, .batch = {4, 4}, .devices = {{0}, {1}}};
  const StageMemory memory(problem, choice);
  EXPECT_FALSE(memory.too_full({0, 2, 4}));
  const LeastFullCut min = min_full_cut(memory, 4);
  double tried = 1e9;
  for (int cut = 1; cut < 4; ++cut)
    tried = std::min(tried, std::ranges::max(memory.of_stages({0, cut, 4})));
  EXPECT_EQ(min.bytes, tried);
  EXPECT_EQ(min.bytes, memory.of_stages(min.begin)[min.stage]);
  EXPECT_DOUBLE_EQ(min.fullness, tried / 1e6);
}

}  // namespace
}  // namespace penstock::partition
