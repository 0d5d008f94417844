#include "partition/planner/placement/bound/run_bound.h"

#include <gtest/gtest.h>

#include <random>

#include "partition/planner/placement/search.h"
#include "tests/support/partition/tried_placements.h"

namespace penstock::partition {
namespace {

TEST(RunBound, IsNeverAboveTheBestPlacement) {
  std::mt19937 random(11);
  int met = 0, bounded = 0;
  for (int round = 0; round < 2000; ++round) {
    test::Instance instance = test::random_instance(random);
    if (round % 2 == 0) test::level_nodes(instance.cluster);
    const PlacementProblem problem = instance.problem();
    const int devices = instance.cluster.size();
    for (int stages = 1; stages <= std::min(devices, problem.sequence.size()); ++stages) {
      const int replicas = std::min(devices / stages, problem.micro_batches);
      const auto best = find_placement(problem, {.stages = stages, .replicas = replicas});
      if (!best || best->value == 0) continue;
      RunBound runs(problem);
      double bound = 0;
      for (const double asked : {0.8, 1.0, 1.5, 0.9}) {  // whatever was asked before
        const double value = asked * best->value;
        const double told =
            std::max(runs.of({stages, replicas}, value), runs.priced(replicas, value));
        ASSERT_LE(told, value);
        bound = std::max(bound, told);
      }
      ASSERT_LE(bound, best->value * (1 + 1e-9)) << round << ": " << stages << " × " << replicas;
      EXPECT_GT(bound, 0);
      met += bound > best->value * (1 - 1e-9);
      ++bounded;
    }
  }
  EXPECT_GT(met, bounded / 5) << "of " << bounded;
}

TEST(RunBound, LetsReplicasCrossNodesOnDifferentSides) {
  test::Instance instance{.sequence = {.name = "three", .layers = {}},
                          .cluster = equal_devices(6),
                          .objective = Objective::bottleneck,
                          .micro_batches = 2,
                          .constraints = {}};
  for (const double parameters : {5e6, 0.0, 5e6})
    instance.sequence.layers.push_back({.name = "layer",
                                        .forward_ms = 4000,
                                        .backward_ms = 6000,
                                        .activation_bytes = 5e5,
                                        .parameter_bytes = parameters});
  for (int device = 0; device < 6; ++device) instance.cluster.devices[device].node = device / 3;
  const LinkRates within{.latency = 0, .bandwidth = 1e12}, between{.latency = 0, .bandwidth = 1e6};
  instance.cluster.nodes = {"a", "b"};
  instance.cluster.node_links = {within, between, between, within};
  // No stage has both ways to cross: its replicas take one each.
  const double loads = *test::value_of(instance, {0, 1, 2, 3}, {{0, 1}, {3, 2}, {4, 5}});
  EXPECT_NEAR(loads, 11, 1e-4);
  EXPECT_LE(RunBound(instance.problem()).of({3, 2}, 20), loads);
}

TEST(RunBound, FastDevicesReplicasMayBeSlowAndLarge) {
  constexpr double kSize = 1e9;
  test::Instance instance{.sequence = {.name = "seven", .layers = {}},
                          .cluster = {},
                          .objective = Objective::bottleneck,
                          .micro_batches = 200,
                          .constraints = {}};
  for (int i = 0; i < 7; ++i)
    instance.sequence.layers.push_back({.name = "layer",
                                        .forward_ms = i % 2 == 0 ? 300.0 : 400.0,
                                        .backward_ms = i % 2 == 0 ? 500.0 : 600.0,
                                        .activation_bytes = kSize,
                                        .parameter_bytes = i == 3 ? 5 * kSize : 0});
  // Three fast devices in nodes of their own, of which one is large, and five nodes of slow ones.
  const std::vector<int> sizes = {1, 1, 1, 3, 3, 1, 3, 1};
  for (int node = 0; node < std::ssize(sizes); ++node) {
    instance.cluster.nodes.push_back("n" + std::to_string(node));
    for (int i = 0; i < sizes[node]; ++i)
      instance.cluster.devices.push_back({.kind = "k",
                                          .memory = (node == 1 || node == 2 ? 20 : 40) * kSize,
                                          .speed = node < 3 ? 2.0 : 1.0,
                                          .node = node});
    for (int other = 0; other < std::ssize(sizes); ++other)
      instance.cluster.node_links.push_back(
          {.latency = 0, .bandwidth = node == other ? 4e12 : 20e9});
  }
  const Placement placement = {{3, 9}, {4, 1}, {5, 10}, {0, 11}, {6, 12}, {7, 2}, {8, 13}};
  const auto value = test::value_of(instance, {0, 1, 2, 3, 4, 5, 6, 7}, placement);
  ASSERT_TRUE(value);
  EXPECT_NEAR(*value, 1.0035, 1e-3);
  EXPECT_LE(RunBound(instance.problem()).of({7, 2}, 2), *value);
}

TEST(RunBound, HoldsForReplicasOnSixToEightDevices) {
  std::mt19937 random(12);
  int bounded = 0, mixed = 0;
  for (int round = 0; round < 1500; ++round) {
    test::Instance instance =
        test::random_instance(random, {.max_layers = 5, .min_devices = 6, .max_devices = 8});
    if (round % 4 > 0) test::level_nodes(instance.cluster);
    for (LayerProfile& layer : instance.sequence.layers) layer.parameter_bytes *= round % 3 * 10;
    for (Device& device : instance.cluster.devices) device.memory *= 30;
    const PlacementProblem problem = instance.problem();
    for (int stages = 2; stages <= std::min(4, problem.sequence.size()); ++stages) {
      const int replicas = std::min(instance.cluster.size() / stages, problem.micro_batches);
      if (replicas < 2) continue;
      const auto best = find_placement(problem, {.stages = stages, .replicas = replicas});
      if (!best || best->value == 0) continue;
      const double bound = RunBound(problem).of({stages, replicas}, 1.5 * best->value);
      ASSERT_LE(bound, best->value * (1 + 1e-9)) << round << ": " << stages << " × " << replicas;
      ++bounded;
      mixed += problem.cluster.devices.front().speed != problem.cluster.devices.back().speed;
    }
  }
  EXPECT_GT(bounded, 1000);
  EXPECT_GT(mixed, 300);
}

}  // namespace
}  // namespace penstock::partition
