#include "partition/planner/choose/stage_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

TEST(StageMemory, SumsChunksWithinTheSmallestDevice) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = test::planned_sequence(sequence, 4, 1000);
  problem.cluster.margin = 0.25;
  problem.cluster.devices[3].memory = 800;
  Candidate candidate{.stages = 2, .replicas = 2, .batch = {4, 4}, .devices = {{0, 3}, {1, 2}}};
  const StageMemory memory(problem, candidate);
  EXPECT_EQ(memory.limit(0), 600);
  EXPECT_EQ(memory.limit(1), 750);
  const ChunkBytes bytes = problem.model.bytes(candidate);
  EXPECT_EQ(memory.of_stages({0, 1, 4}),
            (std::vector{static_cast<double>(bytes(0, 1, 0).total()),
                         static_cast<double>(bytes(1, 4, 1).total())}));
  EXPECT_EQ(memory.too_full({0, 1, 4}), 1);
}

TEST(StageMemory, FindsTheLeastFullCut) {
  const LayerSequence sequence = test::small_sequence();
  const PlanningProblem problem = test::planned_sequence(sequence, 2, 1e6);
  const Candidate candidate{.stages = 2, .batch = {4, 4}, .devices = {{0}, {1}}};
  const StageMemory memory(problem, candidate);
  EXPECT_FALSE(memory.too_full({0, 2, 4}));
  const LeastFullCut min = min_full_cut(memory, 4);
  double tried = 1e9;
  for (int cut = 1; cut < 4; ++cut)
    tried = std::min(tried, std::ranges::max(memory.of_stages({0, cut, 4})));
  EXPECT_EQ(min.bytes, tried);
  EXPECT_EQ(min.bytes, memory.of_stages(min.begin)[min.stage]);
  EXPECT_DOUBLE_EQ(min.fullness, tried / 1e6);
}

ChunkBytes bytes_of(const LayerSequence& sequence, const Candidate& candidate) {
  ParameterBytes parameters{.lanes_of = std::vector<int>(candidate.replicas, 1)};
  parameters.kinds.sharing = {.replicas = candidate.shards_optimizer ? candidate.replicas : 1};
  return {sequence,
          {{{{{12, 5}}}, schedule_of(candidate).of(3), candidate.recomputed}},
          {},
          parameters};
}

/// Placements of a grid in the devices' order of memory, from any of them on.
Candidate placed(const Grid& grid, const std::vector<int>& order) {
  Candidate candidate{.stages = grid.stages, .replicas = grid.replicas};
  for (int k = 0; k < grid.stages; ++k) {
    auto& stage = candidate.devices.emplace_back();
    for (int r = 0; r < grid.replicas; ++r) stage.push_back(order[k * grid.replicas + r]);
  }
  return candidate;
}

// With memory as tight as each placement needs, the bound must not say that it can't fit.
TEST(MemoryBound, RefutesNothingThatFits) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = test::planned_sequence(sequence, 5, 1e9);
  problem.model.bytes = [&](const Candidate& candidate) { return bytes_of(sequence, candidate); };
  std::mt19937 random(3);
  int tight = 0;
  for (int round = 0; round < 200; ++round) {
    const int stages = 1 + static_cast<int>(random() % 4);
    const Grid grid{stages, 1 + static_cast<int>(random() % (5 / stages))};
    std::vector<int> order{0, 1, 2, 3, 4};
    std::ranges::shuffle(order, random);
    Candidate candidate = placed(grid, order);
    candidate.shards_optimizer = random() % 2 == 0 && grid.replicas > 1;
    problem.constraints.shards_optimizer =
        random() % 2 == 0 ? std::nullopt : std::optional(candidate.shards_optimizer);
    for (Device& device : problem.cluster.devices) device.memory = 1e9;
    const auto cut = min_full_cut(StageMemory(problem, candidate), sequence.size());
    const auto needed = StageMemory(problem, candidate).of_stages(cut.begin);
    for (int k = 0; k < grid.stages; ++k)
      for (const int device : candidate.devices[k])
        problem.cluster.devices[device].memory = needed[k] / (1 - problem.cluster.margin);
    const double fullness = MemoryBound(problem).fullness(candidate.batch, grid);
    EXPECT_LE(fullness, 1 + 1e-9) << round;
    tight += fullness > 0.3;
  }
  EXPECT_GT(tight, 50);
}

TEST(MemoryBound, RefutesStagesWithoutRoomForParameters) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = test::planned_sequence(sequence, 4, 1e9);
  problem.model.bytes = [&](const Candidate& candidate) { return bytes_of(sequence, candidate); };
  const double all = bytes_of(sequence, {}).at_least(0, sequence.size());
  problem.cluster.margin = 0;
  for (Device& device : problem.cluster.devices) device.memory = all / 2;
  EXPECT_DOUBLE_EQ(MemoryBound(problem).fullness({}, {1, 1}), 2);
  EXPECT_LT(MemoryBound(problem).fullness({}, {4, 1}), 2);
  problem.cluster.devices[0].memory = all;
  EXPECT_DOUBLE_EQ(MemoryBound(problem).fullness({}, {1, 1}), 1);
  EXPECT_DOUBLE_EQ(MemoryBound(problem).fullness({}, {1, 2}), 2);  // the smaller one counts
  problem.constraints.shards_optimizer.reset();
  EXPECT_LT(MemoryBound(problem).fullness({}, {1, 2}), 1.7);
}

}  // namespace

}  // namespace penstock::partition
