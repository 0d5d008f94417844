#include "partition/planner/placement/bound/priced_bound.h"

#include <gtest/gtest.h>

#include <random>

#include "partition/planner/placement/search.h"
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

TEST(PricedBound, SaysNothingOfOneKindOrWithoutEffort) {
  std::mt19937 random(45);
  test::Instance instance = test::random_instance(random, {.min_devices = 3});
  instance.micro_batches = 8;
  instance.cluster.devices.front().speed = 2;
  const PlacementProblem mixed = instance.problem();
  EXPECT_GT(PricedBound(mixed, 1, kEffort).below(1), 0);
  EXPECT_LE(PricedBound(mixed, 1, -1).below(1), PricedBound(mixed, 1, kEffort).below(1));
  for (Device& device : instance.cluster.devices) device.speed = 1;
  EXPECT_EQ(PricedBound(instance.problem(), 1, kEffort).below(1), 0);
}

}  // namespace
}  // namespace penstock::partition
