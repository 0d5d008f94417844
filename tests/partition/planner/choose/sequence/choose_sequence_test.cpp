#include "partition/planner/choose/sequence/choose_sequence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "partition/planner/choose/choice_estimate.h"
#include "tests/support/partition/large_instances.h"
#include "tests/support/partition/rounding.h"

namespace penstock::partition {
namespace {

double simulated(const PlacementProblem& problem, const SequenceProfile& profile,
                 const PlacedSequence& placed) {
  return sequence_steps({problem, placed, profile}).front().seconds;
}

/// Layers on 64 devices of two speeds, with slow links between nodes.
test::Instance mixed_instance(unsigned seed) {
  std::mt19937 random(seed);
  test::Instance instance = test::large_instance(random, 23, "h100-8x8");
  test::slow_down(instance, 0.4, 1.25e9);
  instance.micro_batches = 61;
  return instance;
}

TEST(ChooseSequence, IsNoSlowerThanItsGridAskedFor) {
  int switched = 0;
  for (const unsigned seed : {1u, 2u, 3u}) {
    const test::Instance instance = mixed_instance(seed);
    const PlacementProblem problem = instance.problem();
    const auto candidates = sequence_candidates(problem, instance.sequence, {}, {});
    ASSERT_GT(candidates.size(), 2u);
    const PlacedSequence& chosen = choose_sequence(problem, instance.sequence, candidates);
    const double step = simulated(problem, instance.sequence, chosen);
    for (const PlacedSequence& other : candidates) {
      EXPECT_LE(step, simulated(problem, instance.sequence, other) * (1 + kSameStep));
      const auto value = test::value_of(instance, other.cut.begin, other.devices);
      ASSERT_TRUE(value);
      EXPECT_NEAR(other.value, *value, test::rounding * *value);
      EXPECT_LE(other.bound, other.value);
    }
    const GridConstraints same{chosen.grid.stages, chosen.grid.replicas};
    const auto asked = sequence_candidates(problem, instance.sequence, same, {});
    const PlacedSequence& again = choose_sequence(problem, instance.sequence, asked);
    EXPECT_LE(step, simulated(problem, instance.sequence, again) * (1 + kSameStep));
    switched += &chosen != &candidates.front();
  }
  EXPECT_GT(switched, 0);
}

TEST(ChooseSequence, KeepsTheBottlenecksOptimum) {
  test::Instance instance = mixed_instance(4);
  instance.objective = Objective::bottleneck;
  EXPECT_EQ(sequence_candidates(instance.problem(), instance.sequence, {}, {}).size(), 1u);
}

TEST(LeastStep, IsAboveNoSimulatedStep) {
  std::mt19937 random(41);
  double closest = 0;
  int compared = 0;
  for (int round = 0; round < 300; ++round) {
    const test::Instance instance = test::random_instance(random);
    const PlacementProblem problem = instance.problem();
    const auto found = find_placement(problem, instance.constraints);
    if (!found || problem.sequence.work(0, problem.sequence.size()) == 0) continue;
    for (const Grid& grid : {found->grid, Grid{1, 1}, Grid{1, problem.cluster.size()}}) {
      const GridConstraints constraints{grid.stages, grid.replicas};
      if (grid.replicas > problem.micro_batches) continue;
      const auto placed = find_placement(problem, constraints);
      if (!placed) continue;
      const double min = min_step(problem, instance.sequence, constraints);
      EXPECT_GE(min * (1 + test::rounding), min_step(problem, instance.sequence, {}));
      for (const SequenceStep& step : sequence_steps({problem, *placed, instance.sequence})) {
        EXPECT_GE(step.seconds, min * (1 - test::rounding)) << round;
        closest = std::max(closest, min / step.seconds);
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 300);
  EXPECT_NEAR(closest, 1, 1e-9);
}

}  // namespace
}  // namespace penstock::partition
