#include "partition/planner/placement/heuristics/least_limit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

TEST(LeastLimit, IsFoundToAThousandth) {
  for (const double min : {1.001, 1.7, 2.0, 3.3, 15.9}) {
    const auto found = min_limit({.min = 1, .below = kInfeasible}, [&](double limit) {
      return limit < min ? std::nullopt : std::optional(limit);
    });
    ASSERT_TRUE(found) << min;
    EXPECT_GE(*found, min);
    EXPECT_LE(*found, min * 1.001);
  }
}

TEST(LeastLimit, ContinuesFromWhatWasFound) {
  double max = kInfeasible;
  const auto found = min_limit({.min = 1, .below = kInfeasible}, [&](double limit) {
    EXPECT_LT(limit, max) << "known to be found";
    if (limit < 3) return std::optional<double>();
    max = std::max(3.0, limit - 0.3);
    return std::optional(max);
  });
  EXPECT_EQ(found, 3);
}

TEST(LeastLimit, IsNoneOutsideTheRange) {
  const auto from = [](double min) {
    return [min](double limit) { return limit < min ? std::nullopt : std::optional(limit); };
  };
  EXPECT_FALSE(min_limit({.min = 1, .below = 5}, from(5.5)));
  EXPECT_TRUE(min_limit({.min = 1, .below = 6}, from(5.5)));
  EXPECT_FALSE(min_limit({.min = 1, .below = kInfeasible}, from(17)));
  EXPECT_FALSE(min_limit({.min = 0, .below = kInfeasible}, from(1)));
  EXPECT_FALSE(min_limit({.min = 2, .below = 1}, from(0)));
}

}  // namespace
}  // namespace penstock::partition
