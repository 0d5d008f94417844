#include "partition/planner/cost/operation_seconds.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock::partition {
namespace {

TEST(OperationSeconds, OfOneMultiprocessorAreOperationsByRate) {
  EXPECT_DOUBLE_EQ(product_seconds({7, 13, 11}, 100, {}), 2 * 7 * 13 * 11 / 100.0);
}

TEST(OperationSeconds, OfProductsAreWholeWavesOfTiles) {
  const DeviceRates rates{.multiprocessors = 6, .tile = 10, .slice = 32};
  const double tile = 2 * 10 * 10 * 40 * 6 / 1e3;  // inner index 40, by a sixth of the rate
  EXPECT_DOUBLE_EQ(product_seconds({30, 20, 40}, 1e3, rates), tile);      // 6 tiles
  EXPECT_DOUBLE_EQ(product_seconds({21, 11, 40}, 1e3, rates), tile);      // 6 that are not full
  EXPECT_DOUBLE_EQ(product_seconds({70, 10, 40}, 1e3, rates), 2 * tile);  // 7
}

TEST(OperationSeconds, OfFewTilesShareTheInnerIndex) {
  const DeviceRates rates{.multiprocessors = 6, .tile = 10, .slice = 32};
  const double alone = 2 * 10 * 10 * 100 * 6 / 1e3;
  EXPECT_DOUBLE_EQ(product_seconds({10, 10, 100}, 1e3, rates), alone / 3);  // 3 slices of 32
  EXPECT_DOUBLE_EQ(product_seconds({20, 10, 100}, 1e3, rates), alone / 3);
  EXPECT_DOUBLE_EQ(product_seconds({30, 10, 100}, 1e3, rates), alone / 2);  // 2 for each tile
  EXPECT_DOUBLE_EQ(product_seconds({40, 10, 100}, 1e3, rates), alone);
  EXPECT_DOUBLE_EQ(product_seconds({1, 10, 31}, 1e3, rates), alone * 31 / 100);
}

/// There are as many steps as the longest utterance has frames, whatever the others add.
TEST(OperationSeconds, OfRecurrencesFollowTheLongestUtterance) {
  const RecurrenceWork work{.weight_bytes = 800, .frame_operations = 10};
  const DeviceRates slow_memory{.recurrence = 1e9, .bandwidth = 100, .time_step = 2};
  const std::vector<std::int64_t> one{17}, ragged{5, 17, 0, 11};
  EXPECT_DOUBLE_EQ(recurrence_seconds(work, one, slow_memory), 17 * (2 + 8.0));
  EXPECT_DOUBLE_EQ(recurrence_seconds(work, ragged, slow_memory), 17 * (2 + 8.0));
  EXPECT_EQ(recurrence_seconds(work, {}, slow_memory), 0);

  const DeviceRates slow_arithmetic{.recurrence = 5, .bandwidth = 1e9, .time_step = 2};
  EXPECT_DOUBLE_EQ(recurrence_seconds(work, ragged, slow_arithmetic),
                   17 * 2 + (5 + 17 + 11) * 10 / 5.0);
}

TEST(OperationSeconds, OfRecurrencesReadACacheThatHoldsWeights) {
  const DeviceRates rates{
      .recurrence = 1e9, .bandwidth = 100, .cache_bytes = 800, .cache_bandwidth = 400};
  const std::vector<std::int64_t> lengths{7};
  EXPECT_DOUBLE_EQ(recurrence_seconds({800, 1}, lengths, rates), 7 * 2.0);
  EXPECT_DOUBLE_EQ(recurrence_seconds({801, 1}, lengths, rates), 7 * 8.01);
  DeviceRates slower = rates;
  slower.weight_reading = 1.5;
  EXPECT_DOUBLE_EQ(recurrence_seconds({800, 1}, lengths, slower), 7 * 3.0);
  EXPECT_DOUBLE_EQ(recurrence_seconds({801, 1}, lengths, slower), 7 * 12.015);
}

}  // namespace
}  // namespace penstock::partition
