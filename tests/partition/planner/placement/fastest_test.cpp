#include "partition/planner/placement/fastest.h"

#include <gtest/gtest.h>

namespace penstock::partition {
namespace {

std::vector<bool> fastest_of(const std::vector<double>& speeds) {
  Cluster cluster = equal_devices(static_cast<int>(speeds.size()));
  for (std::size_t i = 0; i < speeds.size(); ++i) cluster.devices[i].speed = speeds[i];
  return fastest(cluster);
}

TEST(Fastest, AreThoseAboveTheLargestStep) {
  EXPECT_EQ(fastest_of({1, 0.39, 1, 0.39, 0.39}), (std::vector{true, false, true, false, false}));
  EXPECT_EQ(fastest_of({0.2, 1, 0.9, 0.21}), (std::vector{false, true, true, false}));
  EXPECT_EQ(fastest_of({3, 1, 2}), (std::vector{true, false, true}));
}

TEST(Fastest, AreAllWhereNoneIsFaster) {
  EXPECT_EQ(fastest_of({0.7, 0.7, 0.7}), (std::vector{true, true, true}));
  EXPECT_EQ(fastest_of({2}), std::vector{true});
}

}  // namespace
}  // namespace penstock::partition
