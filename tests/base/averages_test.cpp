#include "base/averages.h"

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

using Rows = std::vector<std::vector<double>>;

TEST(MiddleMean, TrimsAQuarterAtEitherEnd) {
  // Sums 3, 100, 7, 1, 9: of five rows one at either end.
  const auto means = trimmed_mean(Rows{{1, 2}, {90, 10}, {3, 4}, {0.5, 0.5}, {2, 7}});
  ASSERT_EQ(means.size(), 2u);
  EXPECT_DOUBLE_EQ(means[0], (1 + 3 + 2) / 3.0);
  EXPECT_DOUBLE_EQ(means[1], (2 + 4 + 7) / 3.0);
  // Two of nine rows go at either end, wherever they stand.
  EXPECT_DOUBLE_EQ(trimmed_mean(Rows{{50}, {4}, {1}, {6}, {2}, {80}, {5}, {3}, {70}}).front(),
                   (3 + 4 + 5 + 6 + 50) / 5.0);
}

TEST(MiddleMean, OfFewRowsTakesAll) {
  EXPECT_DOUBLE_EQ(trimmed_mean(Rows{{4, 1}}).back(), 1);
  EXPECT_DOUBLE_EQ(trimmed_mean(Rows{{1}, {2}, {30}}).front(), 11);
}

}  // namespace
}  // namespace penstock
