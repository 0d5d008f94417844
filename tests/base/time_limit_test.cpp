#include "base/time_limit.h"

#include <gtest/gtest.h>

namespace penstock {
namespace {

TEST(TimeLimit, OnceOverStaysSo) {
  double now = 3;
  const TimeLimit limit(2, [&] { return now; });
  EXPECT_FALSE(limit.is_over());
  now = 4.75;
  EXPECT_FALSE(limit.is_over());
  EXPECT_FALSE(limit.ended_a_search());
  now = 5;
  EXPECT_FALSE(limit.ended_a_search());  // nobody has asked
  EXPECT_TRUE(limit.is_over());
  now = 4;
  EXPECT_TRUE(limit.is_over());
  EXPECT_TRUE(limit.ended_a_search());
}

TEST(TimeLimit, NoneIsNeverOver) { EXPECT_FALSE(is_over(nullptr)); }

TEST(TimeLimit, TheProcessesClockNeverGoesBack) {
  const double before = TimeLimit::steady_seconds();
  EXPECT_GE(TimeLimit::steady_seconds(), before);
  EXPECT_TRUE(TimeLimit(0).is_over());
  EXPECT_FALSE(TimeLimit(1e6).is_over());
}

}  // namespace
}  // namespace penstock
