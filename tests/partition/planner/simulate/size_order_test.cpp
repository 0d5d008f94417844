#include "partition/planner/simulate/size_order.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::partition {
namespace {

TEST(SizeOrder, GivesEveryReplicaTheSameOrder) {
  const std::vector<int> own = {2, 0, 3, 1};
  EXPECT_EQ(order_of_step(own, 1, 4), own);
  EXPECT_EQ(order_of_step(own, 2, 8), (std::vector{4, 5, 0, 1, 6, 7, 2, 3}));
  EXPECT_EQ(order_of_step(own, 2, 7), (std::vector{4, 5, 0, 1, 6, 2, 3}));
  EXPECT_EQ(order_of_step(own, 3, 11), (std::vector{6, 7, 8, 0, 1, 2, 9, 10, 3, 4, 5}));
  EXPECT_EQ(order_of_replica({4, 5, 0, 1, 6, 7, 2, 3}, 2, 4), own);
  EXPECT_EQ(order_of_replica({4, 5, 0, 1, 6, 2, 3}, 2, 4), own);
  EXPECT_TRUE(order_of_replica({}, 2, 4).empty());
}

// 6 micro-batches in 4 lanes of 2 replicas: the first replica's two lanes may both get a second.
TEST(SizeOrder, CoversReplicasWithMoreThanTheirShare) {
  std::vector<int> own = order_of_replica({5, 0, 3, 1, 4, 2}, 2, 4);
  EXPECT_EQ(own, (std::vector{0, 2, 1, 3}));
  EXPECT_EQ(order_of_step({3, 0, 2, 1}, 2, 6), (std::vector{0, 1, 4, 5, 2, 3}));
}

TEST(SizeOrder, PutsTimesInTheirPlaces) {
  const std::vector<ChunkTimes> by_size{{9, 6, 3}, {4, 3, 1}, {2, 0, 5}};
  const auto forwards = [](const std::vector<ChunkTimes>& times) {
    std::vector<double> seconds;
    for (const ChunkTimes& one : times) seconds.push_back(one.forward);
    return seconds;
  };
  EXPECT_EQ(forwards(in_order(by_size, {1, 2, 0})), (std::vector<double>{4, 2, 9}));
  const auto sampled = in_order(by_size, {});
  ASSERT_EQ(sampled.size(), 3u);
  for (const ChunkTimes& one : sampled) {
    EXPECT_DOUBLE_EQ(one.forward, 5);
    EXPECT_DOUBLE_EQ(one.backward_input, 3);
    EXPECT_DOUBLE_EQ(one.backward_weight, 3);
  }
}

}  // namespace
}  // namespace penstock::partition
