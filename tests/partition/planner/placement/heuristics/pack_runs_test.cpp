#include "partition/planner/placement/heuristics/pack_runs.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "partition/planner/cut/limits.h"
#include "tests/support/partition/compared_heuristic.h"
#include "tests/support/partition/large_instances.h"
#include "tests/support/partition/rounding.h"

namespace penstock::partition {
namespace {

TEST(PackRuns, ReportsItsTrueValueNeverBelowTheBest) {
  std::mt19937 random(41);
  test::ComparedHeuristic runs;
  for (int round = 0; round < 1000; ++round) {
    test::Instance instance = test::random_instance(random);
    if (round % 2 == 0) test::level_nodes(instance.cluster);
    instance.objective = Objective::bottleneck;
    const auto packed = pack_runs(instance.problem(), kInfeasible, round);
    if (!packed) continue;
    SCOPED_TRACE(round);
    runs.add(instance, 1, *packed);
  }
  EXPECT_GT(runs.compared, 300);
  EXPECT_GT(runs.best, runs.compared / 3);
}

TEST(PackRuns, PutsRunsIntoNodesOfSeveralSizes) {
  std::mt19937 random(42);
  test::Instance instance = test::large_instance(random, 61, "h100-8x4");
  test::slow_down(instance, 0.4, 2e9);
  // Nodes of 8, 5, 8 and 3 devices.
  auto& devices = instance.cluster.devices;
  devices.erase(devices.begin() + 27, devices.end());
  devices.erase(devices.begin() + 8, devices.begin() + 11);
  instance.objective = Objective::bottleneck;
  const auto packed = pack_runs(instance.problem(), kInfeasible, 1);
  ASSERT_TRUE(packed);
  const auto value = test::value_of(instance, packed->cut.begin, packed->devices);
  ASSERT_TRUE(value);
  EXPECT_NEAR(packed->cut.value, *value, test::rounding * *value);
  std::set<int> used;
  for (const auto& stage : packed->devices) used.insert(stage.begin(), stage.end());
  EXPECT_EQ(used.size(), packed->devices.size()) << "a device twice";
}

TEST(PackRuns, IsSeededAndKeepsBelowWhatIsKnown) {
  std::mt19937 random(43);
  test::Instance instance = test::large_instance(random, 100, "h100-8x8");
  test::slow_down(instance, 0.4, 1.25e9);
  instance.objective = Objective::bottleneck;
  const PlacementProblem problem = instance.problem();
  const auto packed = pack_runs(problem, kInfeasible, 7),
             again = pack_runs(problem, kInfeasible, 7);
  ASSERT_TRUE(packed && again);
  EXPECT_EQ(packed->devices, again->devices);
  EXPECT_EQ(packed->cut.begin, again->cut.begin);
  EXPECT_FALSE(pack_runs(problem, 0.9 * packed->cut.value, 7));
}

}  // namespace
}  // namespace penstock::partition
