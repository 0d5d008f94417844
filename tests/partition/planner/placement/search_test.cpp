#include "partition/planner/placement/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "configs/config.h"
#include "tests/support/partition/large_instances.h"
#include "tests/support/partition/rounding.h"
#include "tests/support/partition/tried_placements.h"

namespace penstock::partition {
namespace {

struct Tally {
  int solved = 0, refused = 0, replicated = 0;
};

/// Compares so many searches with trying everything.
Tally compare(std::mt19937& random, int rounds, const test::InstanceSize& size) {
  Tally tally;
  for (int round = 0; round < rounds; ++round) {
    const test::Instance instance = test::random_instance(random, size);
    const auto expected = test::try_all(instance);
    const auto found = find_placement(instance.problem(), instance.constraints);
    EXPECT_EQ(found.has_value(), expected.has_value()) << round;
    if (!expected || !found) {
      ++tally.refused;
      continue;
    }
    EXPECT_NEAR(found->value, *expected, test::rounding * *expected) << round;
    EXPECT_TRUE(found->exact()) << round;
    EXPECT_EQ(found->bound, found->value) << round;
    const auto value = test::value_of(instance, found->cut.begin, found->devices);
    EXPECT_TRUE(value) << round << ": more memory than there is";
    EXPECT_NEAR(value.value_or(0), *expected, test::rounding * *expected) << round;
    ++tally.solved;
    tally.replicated += found->grid.replicas > 1 && found->grid.stages > 1;
  }
  return tally;
}

TEST(PlacementSearch, EqualsTryingEveryCutOnEveryPermutation) {
  std::mt19937 random(5);
  const Tally tally = compare(random, 3000, {});
  EXPECT_GT(tally.solved, 2000);
  EXPECT_GT(tally.refused, 200);
}

TEST(PlacementSearch, EqualsTryingEverythingOnSixAndSevenDevices) {
  std::mt19937 random(6);
  const Tally six = compare(random, 200, {.max_layers = 6, .min_devices = 6, .max_devices = 6});
  const Tally seven = compare(random, 30, {.max_layers = 5, .min_devices = 7, .max_devices = 7});
  EXPECT_GT(six.solved + seven.solved, 150);
  EXPECT_GT(six.replicated + seven.replicated, 20);
}

TEST(PlacementSearch, EndsInTimeWithTheBestSoFar) {
  std::mt19937 random(29);
  test::Instance instance = test::large_instance(random, 40, "h100-8x8");
  test::slow_down(instance, 0.4, 2e9);
  const PlacementProblem problem = instance.problem();
  int asked = 0;
  const auto within = [&](int max) {
    asked = 0;
    const TimeLimit time(max, [&] { return asked++; });
    auto found = find_placement(problem, {}, {.time = &time});
    EXPECT_EQ(time.ended_a_search(), asked > max);
    return found;
  };
  constexpr int kInfeasible = 1 << 30;
  const auto whole = within(kInfeasible);
  ASSERT_TRUE(whole);
  const int needed = asked;
  ASSERT_GT(needed, 100);
  double last_gap = 0;
  for (const int max : {0, 5, needed / 2, needed - 2}) {
    const auto found = within(max);
    ASSERT_TRUE(found) << max;
    EXPECT_LT(asked, max + 200) << max;
    const auto value = test::value_of(instance, found->cut.begin, found->devices);
    ASSERT_TRUE(value) << max;
    EXPECT_NEAR(*value, found->value, test::rounding * *value) << max;
    EXPECT_GE(found->value, whole->value * (1 - test::rounding)) << max;
    EXPECT_LE(found->bound, whole->value * (1 + test::rounding)) << max;
    last_gap = found->gap();
  }
  EXPECT_LT(last_gap, 0.5);
  const auto again = within(needed + 1);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->devices, whole->devices);
  EXPECT_EQ(again->bound, whole->bound);
}

TEST(PlacementSearch, FindsAnyPlacementWhereThereIsOne) {
  std::mt19937 random(31);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    const test::Instance instance = test::random_instance(random);
    const auto any = find_any_placement(instance.problem(), instance.constraints);
    const auto best = find_placement(instance.problem(), instance.constraints);
    ASSERT_EQ(any.has_value(), best.has_value()) << round;
    refused += !any;
    if (!any) continue;
    EXPECT_TRUE(test::value_of(instance, any->cut.begin, any->devices)) << round;
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace penstock::partition
