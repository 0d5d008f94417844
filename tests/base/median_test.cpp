#include "base/median.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(Median, IsTheMiddleOfAnyOrder) {
  EXPECT_EQ(median({3, -1, 7}), 3);
  EXPECT_EQ(median({9}), 9);
  EXPECT_EQ(median({1, 100, 2, 5, 4}), 4);
}

TEST(Median, IsBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(median({8, 1, 2, 5}), 3.5);
  EXPECT_EQ(median({2, 6}), 4);
}

TEST(Median, OfNothingIsNothing) { EXPECT_EQ(median({}), 0); }

}  // namespace
}  // namespace penstock
