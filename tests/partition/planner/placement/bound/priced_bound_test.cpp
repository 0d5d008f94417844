#include "partition/planner/placement/bound/priced_bound.h"

#include <gtest/gtest.h>

#include <random>

#include "partition/planner/placement/search.h"
#include "tests/support/partition/large_instances.h"
#include "tests/support/partition/tried_placements.h"

namespace penstock::partition {
namespace {

constexpr double kEffort = 1e9;
constexpr double kRoundedAway = 1 + 1e-9;

/// Kinds in one node or not, links that differ, and memory that may bind: as random_instance() has
/// them, with so many replicas at most.
template <class Check>
void for_placements(int rounds, int seed, const test::InstanceSize& size, Check check) {
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    test::Instance instance = test::random_instance(random, size);
    if (round % 4 == 0) test::level_nodes(instance.cluster);
    for (LayerProfile& layer : instance.sequence.layers) layer.parameter_bytes *= round % 3;
    const PlacementProblem problem = instance.problem();
    const int max = std::min({3, problem.cluster.size(), problem.micro_batches});
    for (int replicas = 1; replicas <= max; ++replicas) {
      const auto best = find_placement(problem, {.replicas = replicas});
      if (best && best->value > 0) check(round, problem, *best);
    }
  }
}

TEST(PricedBound, IsNeverAboveTheBestPlacement) {
  int bounded = 0, close = 0, shared = 0;
  const auto check = [&](int round, const PlacementProblem& problem, const PlacedSequence& best) {
    const int replicas = best.grid.replicas;
    const double bound = PricedBound(problem, replicas, kEffort).below(1.5 * best.value);
    ASSERT_LE(bound, best.value * kRoundedAway) << round << ", replicas: " << replicas;
    bounded += bound > 0;
    close += bound > 0.9 * best.value;
    shared += bound > 0 && replicas > 1;
  };
  for_placements(1200, 41, {}, check);
  for_placements(250, 42, {.max_layers = 6, .min_devices = 6, .max_devices = 8}, check);
  EXPECT_GT(bounded, 700);
  EXPECT_GT(shared, 200);
  EXPECT_GT(close, bounded / 5) << "of " << bounded;
}

TEST(PricedBound, IsNeverAboveTryingEverything) {
  std::mt19937 random(43);
  int bounded = 0;
  for (int round = 0; round < 400; ++round) {
    test::Instance instance = test::random_instance(random, {.max_layers = 5, .max_devices = 4});
    instance.constraints = {};
    const auto tried = test::try_all(instance);
    if (!tried || *tried == 0) continue;
    const PlacementProblem problem = instance.problem();
    double min = 2 * *tried;
    for (int replicas = 1; replicas <= std::min(problem.cluster.size(), problem.micro_batches);
         ++replicas)
      min = std::min(min, PricedBound(problem, replicas, kEffort).below(2 * *tried));
    ASSERT_LE(min, *tried * kRoundedAway) << round;
    bounded += min > 0;
  }
  EXPECT_GT(bounded, 100);
}

TEST(PricedBound, ExcludesNoLimitThatAPlacementKeeps) {
  int excluded = 0, sums = 0;
  const auto check = [&](int round, const PlacementProblem& problem, const PlacedSequence& best) {
    PricedBound prices(problem, best.grid.replicas, kEffort);
    const double slowest = best.cut.slowest * kRoundedAway;
    ASSERT_FALSE(prices.excludes(slowest)) << round;
    ASSERT_LE(prices.min_sum(slowest), best.cut.sum * kRoundedAway) << round;
    sums += prices.min_sum(slowest) > 0.9 * best.cut.sum;
    excluded += prices.excludes(0.7 * slowest);
  };
  for_placements(600, 44, {}, check);
  EXPECT_GT(excluded, 200);
  EXPECT_GT(sums, 100);
}

TEST(PricedBound, SaysLessWithoutEffort) {
  std::mt19937 random(45);
  test::Instance instance = test::random_instance(random, {.min_devices = 3});
  instance.micro_batches = 8;
  instance.cluster.devices.front().speed = 2;
  const PlacementProblem mixed = instance.problem();
  EXPECT_GT(PricedBound(mixed, 1, kEffort).below(1), 0);
  EXPECT_LE(PricedBound(mixed, 1, -1).below(1), PricedBound(mixed, 1, kEffort).below(1));
}

TEST(PricedBound, CountsNodesOfEqualDevices) {
  std::mt19937 random(46);
  test::Instance instance = test::large_instance(random, 100, "h100-8x8");
  test::slow_down(instance, 1, 1e9);
  instance.objective = Objective::bottleneck;
  const PlacementProblem problem = instance.problem();
  const auto best = find_placement(problem, {.replicas = 1}, {.proves = false});
  ASSERT_TRUE(best);
  const double bound = PricedBound(problem, 1, kEffort).below(2 * best->value);
  EXPECT_LE(bound, best->value * kRoundedAway);
  EXPECT_GT(bound, 0.99 * best->value);
}

TEST(PricedBounds, HoldWhateverWasAskedBefore) {
  std::mt19937 random(11);
  int bounded = 0;
  for (int round = 0; round < 500; ++round) {
    test::Instance instance = test::random_instance(random);
    if (round % 2 == 0) test::level_nodes(instance.cluster);
    const PlacementProblem problem = instance.problem();
    PricedBounds bounds(problem);
    const int max = std::min(problem.cluster.size(), problem.micro_batches);
    for (int replicas = 1; replicas <= max; ++replicas) {
      const auto best = find_placement(problem, {.replicas = replicas});
      if (!best || best->value == 0) continue;
      for (const double asked : {0.8, 1.0, 1.5, 0.9}) {
        const double bound = bounds.below(replicas, asked * best->value);
        ASSERT_LE(bound, std::min(asked, kRoundedAway) * best->value) << round;
        bounded += bound > 0;
      }
    }
  }
  EXPECT_GT(bounded, 1000);
}

TEST(PricedBound, LetsReplicasCrossNodesOnDifferentSides) {
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
  EXPECT_LE(PricedBound(instance.problem(), 2, kEffort).below(20), loads);
}

TEST(PricedBound, FastDevicesReplicasMayBeSlowAndLarge) {
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
  EXPECT_LE(PricedBound(instance.problem(), 2, kEffort).below(2), *value);
}

}  // namespace
}  // namespace penstock::partition
