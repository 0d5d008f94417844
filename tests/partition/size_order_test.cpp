#include "partition/size_order.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock {
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
TEST(SizeOrder, NamesEveryPlaceOfAReplicaWithMoreThanItsShare) {
  std::vector<int> own = order_of_replica({5, 0, 3, 1, 4, 2}, 2, 4);
  EXPECT_EQ(own, (std::vector{0, 2, 1, 3}));
  EXPECT_EQ(order_of_step({3, 0, 2, 1}, 2, 6), (std::vector{0, 1, 4, 5, 2, 3}));
}

}  // namespace
}  // namespace penstock
