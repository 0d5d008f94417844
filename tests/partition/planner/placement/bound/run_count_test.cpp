#include "partition/planner/placement/bound/run_count.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "partition/planner/placement/bound/device_classes.h"
#include "partition/planner/placement/search.h"
#include "tests/support/partition/large_instances.h"

namespace penstock::partition {
namespace {

constexpr double kClose = 1 + 2e-4;  // of limits that are halved down to a ten-thousandth

RunTableRequest request_of(const PlacementProblem& problem, int replicas) {
  const DeviceClasses::Stages stages = DeviceClasses(problem).of(replicas);
  return {.runs = stages.runs,
          .classes = stages.classes,
          .limited = stages.limited,
          .micro_batches = micro_batches_of(problem, {1, replicas})};
}

TEST(RunTable, OfOneStageCountEqualsThatOfAny) {
  std::mt19937 random(37);
  int finite = 0;
  for (int round = 0; round < 400; ++round) {
    test::Instance instance = test::random_instance(random);
    if (round % 4 > 0) test::level_nodes(instance.cluster);
    const PlacementProblem problem = instance.problem();
    RunTableRequest request = request_of(problem, 1);
    request.sums = round % 2 == 0;
    request.limit = 1.5 * min_bottleneck(problem, 1);
    RunTable any(problem.sequence, request);
    const int max = std::min(problem.cluster.size(), problem.sequence.size());
    for (request.stages = 1; request.stages <= max; ++request.stages) {
      const double expected = any.min(request.stages);
      EXPECT_EQ(RunTable(problem.sequence, request).min(request.stages), expected) << round;
      finite += expected < std::numeric_limits<double>::infinity();
    }
  }
  EXPECT_GT(finite, 200);
}

TEST(RunCount, EqualsTheTablesMinimumForEveryStageCount) {
  std::mt19937 random(23);
  int limited = 0, several = 0;
  for (int round = 0; round < 1000; ++round) {
    test::Instance instance = test::random_instance(random);
    if (round % 4 > 0) test::level_nodes(instance.cluster);
    const PlacementProblem problem = instance.problem();
    for (int replicas = 1; replicas <= std::min(2, instance.cluster.size()); ++replicas) {
      RunTableRequest request = request_of(problem, replicas);
      for (StageClass& stage_class : request.classes)
        stage_class.memory = std::numeric_limits<double>::infinity();
      request.limit = 1e6;
      const int max = problem.cluster.size() / replicas;
      RunTable table(problem.sequence, request);
      double expected = std::numeric_limits<double>::infinity();
      int stages = 0;
      for (int count = 1; count <= std::min(max, problem.sequence.size()); ++count)
        if (table.min(count) < expected) {
          expected = table.min(count);
          stages = count;
        }
      if (expected == 0 || stages == 0) continue;
      RunCount counted(problem.sequence, request, max);
      EXPECT_LE(counted.min(0, 2 * expected), expected * (1 + 1e-9)) << round;
      EXPECT_GE(counted.min(0, 2 * expected) * kClose, expected) << round;
      limited += request.limited > 0;
      several += stages > 1;
    }
  }
  EXPECT_GT(limited, 100);
  EXPECT_GT(several, 300);
}

TEST(RunCount, IsNeverAboveTheBestPlacement) {
  std::mt19937 random(24);
  int bounded = 0;
  for (int round = 0; round < 1000; ++round) {
    test::Instance instance = test::random_instance(random);
    if (round % 2 == 0) test::level_nodes(instance.cluster);
    instance.objective = Objective::bottleneck;
    const PlacementProblem problem = instance.problem();
    const int replicas = 1 + round % 2;
    if (replicas > std::min(problem.cluster.size(), problem.micro_batches)) continue;
    const auto best = find_placement(problem, {.replicas = replicas});
    if (!best || best->value == 0) continue;
    RunCount count(problem.sequence, request_of(problem, replicas),
                   problem.cluster.size() / replicas);
    EXPECT_TRUE(count.possible(best->value * (1 + 1e-9))) << round;
    ++bounded;
  }
  EXPECT_GT(bounded, 500);
}

TEST(RunCount, SamplesPipelinesWithinLimitAndDevices) {
  std::mt19937 random(25);
  std::mt19937_64 numbers(25);
  test::Instance instance = test::large_instance(random, 101, "h100-8x8");
  test::slow_down(instance, 0.4, 3e9);
  const PlacementProblem problem = instance.problem();
  const RunTableRequest request = request_of(problem, 1);
  const int max = problem.cluster.size();
  RunCount count(problem.sequence, request, max);
  const double limit = 1.1 * count.min(0, 1);
  ASSERT_TRUE(count.possible(limit));
  for (int i = 0; i < 50; ++i) {
    std::vector<StageCost> stages;
    int limited = 0;
    for (const StageRun& run : count.sample(numbers)) {
      const RunKind& kind = request.runs[run.kind];
      const StageClass& stage_class = request.classes[run.kind];  // there is one for each
      ASSERT_EQ(stage_class.run, run.kind);
      EXPECT_GE(run.stages, 1);
      EXPECT_LE(run.stages, kind.capacity);
      for (int k = 0; k < run.stages; ++k) {
        const LinkCost enter = k == 0 ? kind.between : kind.within;
        const LinkCost leave = k + 1 == run.stages ? kind.between : kind.within;
        stages.push_back(
            {.paces = {{.per_work = stage_class.per_work, .enter = enter, .leave = leave}}});
      }
      limited += stage_class.limited ? run.stages : 0;
    }
    stages.front().paces.front().enter = {};
    stages.back().paces.front().leave = {};
    EXPECT_LE(std::ssize(stages), max);
    EXPECT_LE(limited, request.limited);
    EXPECT_GT(limited, 0);
    const auto cut = best_cut(problem.sequence, stages, {.sum = 0, .slowest = 1});
    ASSERT_TRUE(cut);
    EXPECT_LE(cut->slowest, limit * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace penstock::partition
