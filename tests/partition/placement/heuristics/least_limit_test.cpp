#include "partition/placement/heuristics/least_limit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "partition/cut/limits.h"

namespace penstock::partition {
namespace {

TEST(LeastLimit, IsFoundToAThousandth) {
  for (const double least : {1.001, 1.7, 2.0, 3.3, 15.9}) {
    const auto found = least_limit({.least = 1, .below = kNever}, [&](double limit) {
      return limit < least ? std::nullopt : std::optional(limit);
    });
    ASSERT_TRUE(found) << least;
    EXPECT_GE(*found, least);
    EXPECT_LE(*found, least * 1.001);
  }
}

TEST(LeastLimit, ContinuesFromWhatWasFound) {
  double most = kNever;
  const auto found = least_limit({.least = 1, .below = kNever}, [&](double limit) {
    EXPECT_LT(limit, most) << "known to be found";
    if (limit < 3) return std::optional<double>();
    most = std::max(3.0, limit - 0.3);
    return std::optional(most);
  });
  EXPECT_EQ(found, 3);
}

TEST(LeastLimit, IsNoneOutsideTheRange) {
  const auto from = [](double least) {
    return [least](double limit) { return limit < least ? std::nullopt : std::optional(limit); };
  };
  EXPECT_FALSE(least_limit({.least = 1, .below = 5}, from(5.5)));
  EXPECT_TRUE(least_limit({.least = 1, .below = 6}, from(5.5)));
  EXPECT_FALSE(least_limit({.least = 1, .below = kNever}, from(17)));
  EXPECT_FALSE(least_limit({.least = 0, .below = kNever}, from(1)));
  EXPECT_FALSE(least_limit({.least = 2, .below = 1}, from(0)));
}

}  // namespace
}  // namespace penstock::partition
