#include "partition/planner/placement/heuristics/run_count.h"

#include <gtest/gtest.h>

#include <random>

#include "partition/planner/placement/heuristics/device_classes.h"
#include "partition/planner/placement/search.h"
#include "tests/support/partition/large_instances.h"

namespace penstock::partition {
namespace {

RunRequest request_of(const PlacementProblem& problem) {
  return run_request(problem, device_classes(problem));
}

TEST(RunCount, IsNeverAboveTheBestPlacement) {
  std::mt19937 random(24);
  int bounded = 0;
  for (int round = 0; round < 1000; ++round) {
    test::Instance instance = test::random_instance(random);
    if (round % 2 == 0) test::level_nodes(instance.cluster);
    instance.objective = Objective::bottleneck;
    const PlacementProblem problem = instance.problem();
    const auto best = find_placement(problem, {.replicas = 1});
    if (!best || best->value == 0) continue;
    RunCount count(problem.sequence, request_of(problem));
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
  const RunRequest request = request_of(problem);
  RunCount count(problem.sequence, request);
  double limit = 1;
  ASSERT_TRUE(count.possible(limit));
  while (count.possible(limit / 1.1)) limit /= 1.1;
  ASSERT_TRUE(count.possible(limit));
  for (int i = 0; i < 50; ++i) {
    std::vector<StageCost> stages;
    int limited = 0;
    for (const StageRun& run : count.sample(numbers)) {
      const RunKind& kind = request.kinds[run.kind];
      EXPECT_GE(run.stages, 1);
      EXPECT_LE(run.stages, kind.capacity);
      for (int k = 0; k < run.stages; ++k) {
        const LinkCost enter = k == 0 ? kind.between : kind.within;
        const LinkCost leave = k + 1 == run.stages ? kind.between : kind.within;
        stages.push_back({.paces = {{.per_work = kind.per_work, .enter = enter, .leave = leave}}});
      }
      limited += kind.limited ? run.stages : 0;
    }
    stages.front().paces.front().enter = {};
    stages.back().paces.front().leave = {};
    EXPECT_LE(std::ssize(stages), request.stages);
    EXPECT_LE(limited, request.limited);
    EXPECT_GT(limited, 0);
    const auto cut = best_cut(problem.sequence, stages, {.sum = 0, .slowest = 1});
    ASSERT_TRUE(cut);
    EXPECT_LE(cut->slowest, limit * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace penstock::partition
