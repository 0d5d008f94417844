#include "partition/planner/simulate/copy_seconds.h"

#include <gtest/gtest.h>

namespace penstock::partition {
namespace {

// Two chunks, of layers 0 and 1 to 2; three micro-batches, of which the second leaves most.
TEST(CopySeconds, FollowWhatLeavesTheChunk) {
  const StepCosts costs{.layers = {}, .bytes = {{6, 1, 3}, {8, 9, 4}, {2, 7, 0}}};
  const auto seconds = copy_seconds(costs, {0, 1, 3}, {.bytes = {40, 60}, .bandwidth = {10, 4}});
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_EQ(seconds[0], (std::vector<double>{3, 4, 1}));
  EXPECT_EQ(seconds[1], (std::vector<double>{11.25, 15, 0}));
}

TEST(CopySeconds, AreThoseOfTheLargestWhereNothingLeaves) {
  const StepCosts costs{.layers = {}, .bytes = {{0}, {0}}};
  const auto seconds = copy_seconds(costs, {0, 1}, {.bytes = {30}, .bandwidth = {4}});
  EXPECT_EQ(seconds, (std::vector<std::vector<double>>{{7.5, 7.5}}));
}

}  // namespace
}  // namespace penstock::partition
