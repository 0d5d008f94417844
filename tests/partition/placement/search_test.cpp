#include "partition/placement/search.h"

#include <gtest/gtest.h>

#include <random>

#include "configs/config.h"
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
  const Tally six = compare(random, 200, {.most_layers = 6, .least_devices = 6, .most_devices = 6});
  const Tally seven =
      compare(random, 30, {.most_layers = 5, .least_devices = 7, .most_devices = 7});
  EXPECT_GT(six.solved + seven.solved, 150);
  EXPECT_GT(six.replicated + seven.replicated, 20);
}

}  // namespace
}  // namespace penstock::partition
