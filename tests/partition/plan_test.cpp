#include "partition/plan.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace penstock {
namespace {

TEST(Plan, NeighboursAreStagesOfOneReplica) {
  Plan plan;
  plan.ranks = neighbouring_stages(3, 2);
  EXPECT_EQ(plan.ranks, (std::vector<std::vector<int>>{{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(plan.world_size(), 6);
  EXPECT_EQ(plan.place_of(4), (StageReplica{1, 1}));
  EXPECT_THROW(plan.place_of(6), std::out_of_range);
}

TEST(Plan, TheFirstReplicasOwnOneLaneMore) {
  Plan plan;
  plan.ranks = neighbouring_stages(1, 3);
  plan.lanes = 5;
  EXPECT_EQ(plan.lanes_of_replicas(), (std::vector<int>{2, 2, 1}));
}

}  // namespace
}  // namespace penstock
