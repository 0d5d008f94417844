#include "partition/placement/search.h"

#include <gtest/gtest.h>

#include <random>

#include "configs/config.h"
#include "tests/support/tried_placements.h"

namespace penstock {
namespace {

constexpr double kRounding = 1e-9;  // relative, of sums of a few numbers in another order

TEST(PlacementSearch, EqualsTryingEveryCutOnEveryPermutation) {
  std::mt19937 random(5);
  int solved = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const test::Instance instance = test::random_instance(random);
    const PlacementProblem problem = instance.problem();
    const auto expected = test::try_all(instance);
    if (!expected) {
      EXPECT_FALSE(find_placement(problem, instance.wish)) << round;
      ++refused;
      continue;
    }
    const auto found = find_placement(problem, instance.wish);
    ASSERT_TRUE(found) << round;
    ASSERT_NEAR(found->value, *expected, kRounding * *expected) << round;
    ASSERT_NEAR(found->bound, *expected, kRounding * *expected) << round;
    const auto value = test::value_of(instance, found->cut.begin, found->devices);
    ASSERT_TRUE(value) << round << ": more memory than there is";
    ASSERT_NEAR(*value, *expected, kRounding * *expected) << round;
    ++solved;
  }
  EXPECT_GT(solved, 2000);
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace penstock
