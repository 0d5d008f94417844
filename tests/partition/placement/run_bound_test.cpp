#include "partition/placement/run_bound.h"

#include <gtest/gtest.h>

#include <random>

#include "partition/placement/search.h"
#include "tests/support/tried_placements.h"

namespace penstock {
namespace {

TEST(RunBound, IsNeverAboveTheBestOfAllCutsAndPermutations) {
  std::mt19937 random(11);
  int met = 0, bounded = 0;
  for (int round = 0; round < 2000; ++round) {
    test::Instance instance = test::random_instance(random);
    if (round % 2 == 0) test::level_nodes(instance.cluster);
    const PlacementProblem problem = instance.problem();
    const int devices = instance.cluster.size();
    for (int stages = 1; stages <= std::min(devices, problem.chain.size()); ++stages) {
      const int replicas = std::min(devices / stages, problem.micro_batches);
      const auto best = find_placement(problem, {.stages = stages, .replicas = replicas});
      if (!best || best->value == 0) continue;
      const double loose = 1.5 * best->value,
                   bound = RunBound(problem, loose).of({stages, replicas});
      ASSERT_LE(bound, best->value * (1 + 1e-9)) << round << ": " << stages << " × " << replicas;
      EXPECT_GT(bound, 0);
      met += bound > best->value * (1 - 1e-9);
      ++bounded;
    }
  }
  EXPECT_GT(met, bounded / 5) << "of " << bounded;
}

TEST(RunBound, LetsReplicasCrossBetweenNodesOnOtherSidesOfAStage) {
  test::Instance instance{.chain = {.name = "three", .layers = {}},
                          .cluster = equal_devices(6),
                          .objective = Objective::bottleneck,
                          .micro_batches = 2,
                          .wish = {}};
  for (const double parameters : {5e6, 0.0, 5e6})
    instance.chain.layers.push_back({.name = "layer",
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
  EXPECT_LE(RunBound(instance.problem(), 20).of({3, 2}), loads);
}

TEST(RunBound, IsNeverAboveTheBestOfReplicasOnSixToEightDevices) {
  std::mt19937 random(12);
  int bounded = 0, mixed = 0;
  for (int round = 0; round < 1500; ++round) {
    test::Instance instance =
        test::random_instance(random, {.most_layers = 5, .least_devices = 6, .most_devices = 8});
    if (round % 4 > 0) test::level_nodes(instance.cluster);
    for (LayerProfile& layer : instance.chain.layers) layer.parameter_bytes *= round % 3 * 10;
    for (Device& device : instance.cluster.devices) device.memory *= 30;
    const PlacementProblem problem = instance.problem();
    for (int stages = 2; stages <= std::min(4, problem.chain.size()); ++stages) {
      const int replicas = std::min(instance.cluster.size() / stages, problem.micro_batches);
      if (replicas < 2) continue;
      const auto best = find_placement(problem, {.stages = stages, .replicas = replicas});
      if (!best || best->value == 0) continue;
      const double bound = RunBound(problem, 1.5 * best->value).of({stages, replicas});
      ASSERT_LE(bound, best->value * (1 + 1e-9)) << round << ": " << stages << " × " << replicas;
      ++bounded;
      mixed += problem.cluster.devices.front().speed != problem.cluster.devices.back().speed;
    }
  }
  EXPECT_GT(bounded, 1000);
  EXPECT_GT(mixed, 300);
}

}  // namespace
}  // namespace penstock
