#include <gtest/gtest.h>

#include <random>

#include "partition/planner/placement/search.h"
#include "tests/support/partition/large_instances.h"
#include "tests/support/partition/rounding.h"

namespace penstock::partition {
namespace {

enum class Kinds { half_the_nodes, in_each_node, three };

struct Case {
  std::string cluster;
  int layers = 0;
  Objective objective = Objective::step;
  double gap = 0;         // at most, to the bound that the search gives
  double plain_gap = 0;   // to the plain one
  double speed = 1;       // of half the devices
  double between = 50e9;  // bytes a second
  Kinds kinds = Kinds::half_the_nodes;
};

/// Checks a search by an evaluation and a bound that share nothing with it.
void check(const Case& at) {
  std::mt19937 random(17);
  test::Instance instance = test::large_instance(random, at.layers, at.cluster);
  switch (at.kinds) {
    case Kinds::half_the_nodes:
      test::slow_down(instance, at.speed, at.between);
      break;
    case Kinds::in_each_node:
      test::share_nodes(instance, at.speed, at.between);
      break;
    case Kinds::three:
      test::make_three_kinds(instance, at.between);
      break;
  }
  instance.objective = at.objective;
  const auto found = find_placement(instance.problem(), {});
  ASSERT_TRUE(found);
  const auto value = test::value_of(instance, found->cut.begin, found->devices);
  ASSERT_TRUE(value) << "more memory than there is";
  EXPECT_NEAR(*value, found->value, test::rounding * *value);
  EXPECT_LE(found->gap(), at.gap);

  const double plain = test::plain_bound(instance);
  EXPECT_GE(found->bound, plain * (1 - test::rounding));
  EXPECT_LE(*value, plain * (1 + at.plain_gap));
  for (int i = 0; i < 300; ++i) {
    const test::Moved other =
        test::moved(random, instance, {found->cut.begin, found->devices}, 1 + i % 9);
    const auto moved = test::value_of(instance, other.begin, other.devices);
    if (!moved) continue;
    EXPECT_GE(*moved, found->bound * (1 - test::rounding)) << i;
  }
}

TEST(LargePlacementSearch, KeepsWithinFivePercentOn64Devices) {
  check({"h100-8x8", 100, Objective::step, 0.05, 0.05});
  check({"h100-8x8", 100, Objective::bottleneck, 0.05, 1});
}

TEST(LargePlacementSearch, KeepsWithinTenPercentOn1024Devices) {
  check({"h100-128x8", 1000, Objective::step, 0.1, 0.1});
}

TEST(LargePlacementSearch, KeepsWithinFivePercentOn64MixedDevices) {
  check({"h100-8x8", 100, Objective::step, 0.05, 1, 0.4, 10e9});
  check({"h100-8x8", 100, Objective::bottleneck, 0.01, 1, 0.4, 10e9});
  check({"h100-8x8", 100, Objective::bottleneck, 0.05, 3, 0.4, 1.25e9});
}

TEST(LargePlacementSearch, KeepsWithinTenPercentOfBothKinds) {
  constexpr auto kinds = Kinds::in_each_node;
  check({"h100-8x8", 100, Objective::step, 0.02, 3, 0.4, 10e9, kinds});
  check({"h100-8x8", 100, Objective::bottleneck, 0.1, 3, 0.4, 10e9, kinds});
  check({"h100-8x8", 100, Objective::step, 0.1, 3, 0.4, 1.25e9, kinds});
  check({"h100-8x8", 100, Objective::bottleneck, 0.1, 3, 0.4, 1.25e9, kinds});
}

TEST(LargePlacementSearch, KeepsWithinTenPercentOnThreeKinds) {
  constexpr auto kinds = Kinds::three;
  check({"h100-8x8", 100, Objective::step, 0.03, 3, 1, 10e9, kinds});
  check({"h100-8x8", 100, Objective::bottleneck, 0.1, 3, 1, 10e9, kinds});
  check({"h100-8x8", 100, Objective::step, 0.03, 3, 1, 1.25e9, kinds});
  check({"h100-8x8", 100, Objective::bottleneck, 0.1, 3, 1, 1.25e9, kinds});
}

TEST(LargePlacementSearch, KeepsWithinTenPercentOn1024MixedDevices) {
  check({"h100-128x8", 1000, Objective::bottleneck, 0.01, 1, 0.4, 10e9});
  check({"h100-128x8", 1000, Objective::step, 0.1, 3, 0.4, 1.25e9});
}

/// A poor search's bound holds for what a better search finds.
TEST(LargePlacementSearch, BoundsHoldForBetterSearches) {
  std::mt19937 random(29);
  int improved = 0;
  for (int round = 0; round < 6; ++round) {
    test::Instance instance = test::large_instance(random, 41 + round, "h100-8x4");
    test::share_nodes(instance, 0.4, round % 2 ? 10e9 : 1.25e9);
    instance.objective = Objective::bottleneck;
    const auto poor = find_placement(instance.problem(), {}, {.random_starts = 0, .moves = 0});
    const auto better = find_placement(instance.problem(), {});
    ASSERT_TRUE(poor && better);
    EXPECT_LE(poor->bound, better->value * (1 + test::rounding)) << round;
    improved += better->value < poor->value;
  }
  EXPECT_GT(improved, 3);
}

}  // namespace
}  // namespace penstock::partition
