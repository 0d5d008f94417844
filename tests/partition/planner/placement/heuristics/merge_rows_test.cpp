#include "partition/planner/placement/heuristics/merge_rows.h"

#include <gtest/gtest.h>

#include <random>

#include "partition/planner/cut/limits.h"
#include "tests/support/partition/compared_heuristic.h"
#include "tests/support/partition/large_instances.h"

namespace penstock::partition {
namespace {

TEST(MergeRows, ReportsItsTrueValueNeverBelowTheBest) {
  std::mt19937 random(31);
  test::ComparedHeuristic rows;
  int replicated = 0;
  for (int round = 0; round < 1500; ++round) {
    test::Instance instance = test::random_instance(random);
    instance.objective = Objective::bottleneck;
    const PlacementProblem problem = instance.problem();
    const int replicas = 1 + round % 3;
    if (replicas > std::min(problem.cluster.size(), problem.micro_batches)) continue;
    const auto merged = merge_rows(problem, replicas, kInfeasible);
    if (!merged) continue;
    SCOPED_TRACE(round);
    rows.add(instance, replicas, *merged);
    EXPECT_EQ(merged->devices.front().size(), replicas);
    replicated += replicas > 1 && merged->devices.size() > 1;
  }
  EXPECT_GT(rows.compared, 700);
  EXPECT_GT(replicated, 50);
  EXPECT_GT(rows.best, rows.compared / 2);
}

TEST(MergeRows, KeepsBelowWhatIsKnown) {
  std::mt19937 random(32);
  test::Instance instance = test::large_instance(random, 53, "h100-8x4");
  test::slow_down(instance, 0.4, 5e9);
  instance.objective = Objective::bottleneck;
  const PlacementProblem problem = instance.problem();
  const auto merged = merge_rows(problem, 1, kInfeasible);
  ASSERT_TRUE(merged);
  const double value = merged->cut.value;
  EXPECT_FALSE(merge_rows(problem, 1, 0.99 * value));
  const auto again = merge_rows(problem, 1, 1.01 * value);
  ASSERT_TRUE(again);
  EXPECT_LT(again->cut.value, 1.01 * value);
}

TEST(MergeRows, UsesDevicesOfBothKinds) {
  std::mt19937 random(33);
  test::Instance instance = test::large_instance(random, 53, "h100-8x4");
  test::slow_down(instance, 0.4, 10e9);
  const PlacementProblem problem = instance.problem();
  const auto merged = merge_rows(problem, 1, kInfeasible);
  ASSERT_TRUE(merged);
  int slow = 0;
  for (const auto& stage : merged->devices)
    slow += problem.cluster.devices[stage.front()].speed < 1;
  EXPECT_GT(slow, 5);
  EXPECT_GT(std::ssize(merged->devices) - slow, 5);
}

TEST(MergeRows, FollowsWideLinksBetweenNodes) {
  test::Instance instance{.sequence = {.name = "eight", .layers = {}},
                          .cluster = equal_devices(8),
                          .objective = Objective::bottleneck,
                          .micro_batches = 8,
                          .constraints = {}};
  for (int i = 0; i < 8; ++i)
    instance.sequence.layers.push_back({.name = "layer",
                                        .forward_ms = 300,
                                        .backward_ms = 700,
                                        .activation_bytes = 1e6,
                                        .parameter_bytes = 0});
  Cluster& cluster = instance.cluster;
  cluster.nodes = {"a", "b", "c", "d"};
  for (int device = 0; device < 8; ++device) cluster.devices[device].node = device / 2;
  cluster.node_links.assign(16, {.latency = 0, .bandwidth = 1e6});
  for (const auto& [one, other] : {std::pair(0, 0), {1, 1}, {2, 2}, {3, 3}, {0, 2}, {2, 1}, {1, 3}})
    for (const int link : {4 * one + other, 4 * other + one}) cluster.node_links[link] = {0, 1e9};
  const auto merged = merge_rows(instance.problem(), 1, kInfeasible);
  ASSERT_TRUE(merged);
  EXPECT_LE(merged->cut.slowest, 1.005);
}

TEST(MergeRows, GivesReplicasNodesOfTheirOwn) {
  test::Instance instance{.sequence = {.name = "six", .layers = {}},
                          .cluster = equal_devices(12),
                          .objective = Objective::bottleneck,
                          .micro_batches = 8,
                          .constraints = {}};
  for (int i = 0; i < 6; ++i)
    instance.sequence.layers.push_back({.name = "layer",
                                        .forward_ms = 300,
                                        .backward_ms = 700,
                                        .activation_bytes = 25e3,
                                        .parameter_bytes = 0});
  Cluster& cluster = instance.cluster;
  cluster.nodes = {"a", "b", "c", "d"};
  for (int device = 0; device < 12; ++device) cluster.devices[device].node = device / 3;
  cluster.node_links.assign(16, {.latency = 0, .bandwidth = 1e6});
  for (int node = 0; node < 4; ++node) cluster.node_links[5 * node] = {0, 1e12};
  const auto merged = merge_rows(instance.problem(), 2, kInfeasible);
  ASSERT_TRUE(merged);
  ASSERT_EQ(merged->devices.size(), 6u);
  for (int replica = 0; replica < 2; ++replica)
    for (int stage = 0; stage < 6; ++stage)
      EXPECT_EQ(cluster.devices[merged->devices[stage][replica]].node,
                cluster.devices[merged->devices[stage / 3 * 3][replica]].node);
}

TEST(MergingEffort, GrowsWithTheShorterRow) {
  std::mt19937 random(34);
  test::Instance instance = test::large_instance(random, 53, "h100-8x4");
  const double alike = merging_effort(instance.problem(), 1);
  test::slow_down(instance, 0.4, 10e9);
  EXPECT_GT(merging_effort(instance.problem(), 1), 10 * alike);
}

}  // namespace
}  // namespace penstock::partition
