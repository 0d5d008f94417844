#include "partition/planner/plan/plan.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace penstock::partition {
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

TEST(Plan, KnowsItsCutAndWhatAStageTakes) {
  Plan plan;
  for (const int stage : {0, 1, 1, 0})
    plan.chunks.push_back({.stage = stage, .first = 2 * static_cast<int>(plan.chunks.size())});
  for (ChunkPlan& chunk : plan.chunks) {
    chunk.layers = {"a", "b"};
    chunk.predicted.bytes.saved = 5 + static_cast<std::size_t>(chunk.stage);
  }
  EXPECT_EQ(plan.cut(), (std::vector<int>{0, 2, 4, 6, 8}));
  EXPECT_EQ(plan.bytes_of(1).saved, 6u);
  EXPECT_THROW(plan.bytes_of(2), std::out_of_range);
}

}  // namespace
}  // namespace penstock::partition
