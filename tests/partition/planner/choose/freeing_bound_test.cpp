#include "partition/planner/choose/freeing_bound.h"

#include <gtest/gtest.h>

#include <random>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

TEST(FreeingBound, TakesWhatFreesMostASecondFirst) {
  const std::vector<double> bytes{6, 0, 10, 3}, seconds{3, 0, 2, 2};
  const FreeingBound bound(bytes, seconds);
  EXPECT_EQ(bound.seconds(0, -4), 0);
  EXPECT_DOUBLE_EQ(bound.seconds(0, 5), 1);
  EXPECT_DOUBLE_EQ(bound.seconds(0, 10), 2);
  EXPECT_DOUBLE_EQ(bound.seconds(0, 14), 2 + 4.0 / 6 * 3);
  EXPECT_DOUBLE_EQ(bound.seconds(0, 19), 7);
  EXPECT_EQ(bound.seconds(0, 19.5), kInfeasible);
  EXPECT_DOUBLE_EQ(bound.seconds(1, 11), 2 + 1.0 / 3 * 2);  // without the first layer
  EXPECT_EQ(bound.seconds(3, 4), kInfeasible);
  EXPECT_EQ(bound.seconds(4, 1), kInfeasible);
  EXPECT_EQ(bound.seconds(5, 1), kInfeasible);  // after a run that ends the chunk
}

TEST(FreeingBound, IsNeverAboveAChoiceOfWholeLayers) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> bytes, seconds;
    for (int i = 0; i < 7; ++i) {
      bytes.push_back(static_cast<double>(random() % 5) * 11);
      seconds.push_back(static_cast<double>(random() % 7));
    }
    const FreeingBound bound(bytes, seconds);
    const int first = static_cast<int>(random() % 7);
    for (unsigned mask = 1; mask < 1U << 7; ++mask) {
      double freed = 0, taken = 0;
      for (int i = first; i < 7; ++i)
        if ((mask >> i & 1) != 0) {
          freed += bytes[i];
          taken += seconds[i];
        }
      EXPECT_LE(bound.seconds(first, freed), taken * (1 + 1e-12));
    }
  }
}

}  // namespace
}  // namespace penstock::partition
