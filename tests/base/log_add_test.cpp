#include "base/log_add.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace penstock {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(LogAdd, AddsWhatLogarithmsStandFor) {
  for (const double a : {0.25, 1.0, 3.0})
    for (const double b : {0.125, 0.5, 3.0})
      EXPECT_DOUBLE_EQ(log_add(std::log(a), std::log(b)), std::log(a + b)) << a << " " << b;
}

TEST(LogAdd, NeitherOverflowsNorVanishes) {
  EXPECT_DOUBLE_EQ(log_add(-2000, -2000), -2000 + std::log(2.0));
  EXPECT_DOUBLE_EQ(log_add(2000, 2000), 2000 + std::log(2.0));
  EXPECT_EQ(log_add(-5000, 3), 3);
}

TEST(LogAdd, TakesInfinityForNothing) {
  EXPECT_EQ(log_add(-kInfinity, -3), -3);
  EXPECT_EQ(log_add(-3, -kInfinity), -3);
  EXPECT_EQ(log_add(-kInfinity, -kInfinity), -kInfinity);
}

TEST(LogAdd, KeepsNaN) {
  for (const double other : {-kInfinity, -1.0, 2.0}) {
    EXPECT_TRUE(std::isnan(log_add(kNaN, other))) << other;
    EXPECT_TRUE(std::isnan(log_add(other, kNaN))) << other;
  }
}

}  // namespace
}  // namespace penstock
