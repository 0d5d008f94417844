#include "runtime/data/augment/draw_numbers.h"

#include <gtest/gtest.h>

#include <set>

namespace penstock::runtime {
namespace {

TEST(DrawNumbers, DependOnPurposeSeedAndDraw) {
  const double one = DrawNumbers(SampleKind::noise, 3, {1, 2, 0}).next();
  EXPECT_EQ(DrawNumbers(SampleKind::noise, 3, {1, 2, 0}).next(), one);
  EXPECT_NE(DrawNumbers(SampleKind::room, 3, {1, 2, 0}).next(), one);
  EXPECT_NE(DrawNumbers(SampleKind::noise, 4, {1, 2, 0}).next(), one);
  EXPECT_NE(DrawNumbers(SampleKind::noise, 3, {2, 2, 0}).next(), one);
  EXPECT_NE(DrawNumbers(SampleKind::noise, 3, {1, 3, 0}).next(), one);
  EXPECT_NE(DrawNumbers(SampleKind::noise, 3, {1, 2, 1}).next(), one);
}

TEST(DrawNumbers, CoverTheirRangesEvenly) {
  DrawNumbers numbers(SampleKind::noise, 3, {});
  std::multiset<std::int64_t> whole;
  double sum = 0;
  for (int i = 0; i < 3000; ++i) {
    whole.insert(numbers.between(-1, 1));
    const double x = numbers.within(-5, 11);
    EXPECT_GE(x, -5);
    EXPECT_LT(x, 11);
    sum += x;
  }
  for (const int value : {-1, 0, 1}) EXPECT_NEAR(static_cast<double>(whole.count(value)), 1000, 90);
  EXPECT_NEAR(sum / 3000, 3, 0.3);
}

}  // namespace
}  // namespace penstock::runtime
