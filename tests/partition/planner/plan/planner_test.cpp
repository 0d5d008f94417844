#include "partition/planner/plan/planner.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/nn/elementwise.h"
#include "partition/layout/chunk_bytes.h"
#include "partition/planner/plan/plan_file.h"
#include "partition/schedule/make_schedule.h"
#include "tests/support/partition/small_sequence.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

class PlannerTest : public testing::Test {
 protected:
  PlanRequest request(int stages, int replicas) const {
    PlanRequest request;
    request.model = "small";
    request.costs = {
        {"conv", 1, 1, 1}, {"relu", 1, 0, 0}, {"hidden", 1, 1, 1}, {"output", 1, 1, 1}};
    request.transfers = {0.5, 0.5, 0.25, 0};
    request.bytes = ChunkBytes(
        sequence_, {{{{{7, 1, 13, 5}}, {{8}}}, make_schedule("1f1b", stages, 3)}}, {}, {});
    request.pipeline.stages = stages;
    request.pipeline.replicas = replicas;
    request.micro_batches = 6;
    return request;
  }

  LayerSequence sequence_ = test::small_sequence();
};

TEST_F(PlannerTest, CutsPlacesAndPredicts) {
  const Plan plan = make_plan(sequence_, request(2, 2));
  EXPECT_EQ(plan.ranks, (std::vector<std::vector<int>>{{0, 2}, {1, 3}}));
  EXPECT_EQ(plan.lanes, 2);
  ASSERT_EQ(plan.chunks.size(), 2u);
  EXPECT_EQ(plan.chunks[0].layers, (std::vector<std::string>{"conv", "relu"}));
  EXPECT_EQ(plan.chunks[1].first, 2);
  EXPECT_DOUBLE_EQ(plan.chunks[0].predicted.time_share, 0.4);
  EXPECT_EQ(plan.chunks[0].predicted.parameters, 4 * 3 * 3);
  EXPECT_EQ(plan.chunks[1].predicted.parameters, 12 * 10 + 10 + 10 * 5 + 5);
  const PlannedModel model{"small", {"conv", "relu", "hidden", "output"}};
  EXPECT_EQ(parse_plan(plan_toml(plan), "plan.toml", model), plan);
}

TEST_F(PlannerTest, MovesTheCutToFitMemory) {
  PlanRequest tight = request(2, 1);
  // Each layer takes 1 GiB on the first stage, which keeps two micro-batches, and half of it on the
  // second.
  tight.bytes = [](std::span<const ChunkRange> held) {
    StageBytes bytes;
    for (const auto& [first, last, chunk] : held)
      bytes.saved += (std::size_t{2} - chunk) * (last - first) << 29;
    return bytes;
  };
  tight.pipeline.memory_gib = 1.5;
  EXPECT_EQ(make_plan(sequence_, tight).chunks[1].first, 1);
  tight.pipeline.memory_gib = 1;
  EXPECT_NE(
      test::message_of<ConfigError>([&] { make_plan(sequence_, tight); }).find("memory binds"),
      std::string::npos);
}

// Chunks 0 and 3 on the first stage, 1 and 2 on the second.
TEST_F(PlannerTest, CutsAsManyChunksAsTheScheduleHas) {
  PlanRequest down_and_up = request(2, 1);
  down_and_up.pipeline.schedule = "zb-v";
  const Schedule schedule = make_schedule("zb-v", 2, 6);
  const ChunkBytes bytes(sequence_, {{{{{7, 1, 13, 5}}, {{8}}}, schedule}}, {}, {});
  down_and_up.bytes = bytes;
  const Plan plan = make_plan(sequence_, down_and_up);
  ASSERT_EQ(plan.chunks.size(), 4u);
  EXPECT_EQ(plan.cut(), (std::vector<int>{0, 1, 2, 3, 4}));
  const std::vector<ChunkRange> outer{{0, 1, 0}, {3, 4, 3}}, inner{{1, 2, 1}, {2, 3, 2}};
  EXPECT_EQ(plan.bytes_of(0), bytes(outer));
  EXPECT_EQ(plan.bytes_of(1), bytes(inner));
  const PlannedModel model{"small", {"conv", "relu", "hidden", "output"}};
  EXPECT_EQ(parse_plan(plan_toml(plan), "plan.toml", model), plan);

  down_and_up.pipeline.stages = 3;
  EXPECT_EQ(test::message_of<ConfigError>([&] { make_plan(sequence_, down_and_up); }),
            "pipeline.stages = 3, but the model has 4 layers and each of a stage's 2 "
            "chunks needs one: ask for at most 2");
}

// A layer takes 1 GiB in the chunks of the first stage, nothing in those of the second.
TEST_F(PlannerTest, SharesAStagesMemoryAmongItsChunks) {
  LayerSequence even{.layers = {}, .features = 6};
  PlanRequest tight = request(2, 1);
  tight.costs.clear();
  tight.transfers.assign(8, 0);
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    even.layers.push_back(std::make_unique<layers::ClippedReLU>(name));
    tight.costs.push_back({name, 1, 1, 0});
  }
  tight.pipeline.schedule = "zb-v";
  tight.bytes = [](std::span<const ChunkRange> held) {
    StageBytes bytes;
    for (const auto& [first, last, chunk] : held)
      if (chunk == 0 || chunk == 3) bytes.saved += static_cast<std::size_t>(last - first) << 30;
    return bytes;
  };
  tight.pipeline.memory_gib = 4;
  EXPECT_EQ(make_plan(even, tight).cut(), (std::vector<int>{0, 2, 4, 6, 8}));
  tight.pipeline.memory_gib = 2.5;
  EXPECT_EQ(make_plan(even, tight).cut(), (std::vector<int>{0, 1, 4, 7, 8}));
  tight.pipeline.memory_gib = 1.5;
  const std::string message = test::message_of<ConfigError>([&] { make_plan(even, tight); });
  EXPECT_NE(message.find("shared by the 2 chunks of a stage, allows 0.75"), std::string::npos)
      << message;
}

TEST_F(PlannerTest, EstimatesWhatAnothersPlanNeeds) {
  const Plan made = make_plan(sequence_, request(2, 2));
  Plan edited = made;
  for (ChunkPlan& chunk : edited.chunks) chunk.predicted = {};
  EXPECT_EQ(with_estimates(sequence_, request(2, 2), edited), made);
  PlanRequest tight = request(2, 2);
  tight.pipeline.memory_gib = 1e-6;
  const std::string message =
      test::message_of<ConfigError>([&] { with_estimates(sequence_, tight, edited); });
  EXPECT_NE(message.find("stage 0 of the plan (layers conv to relu) needs"), std::string::npos)
      << message;
}

TEST_F(PlannerTest, RejectsCountsThatDoNotGoTogether) {
  PlanRequest wrong = request(2, 2);
  wrong.lanes = 1;
  EXPECT_THROW(make_plan(sequence_, wrong), ConfigError);
  wrong.lanes = 7;
  EXPECT_THROW(make_plan(sequence_, wrong), ConfigError);
  wrong = request(2, 1);
  wrong.pipeline.schedule = "zigzag";
  EXPECT_THROW(make_plan(sequence_, wrong), ConfigError);
  wrong.pipeline.schedule = "1f1b";
  wrong.pipeline.stages = 5;
  EXPECT_THROW(make_plan(sequence_, wrong), ConfigError);
}

TEST(MicroBatchesPerReplica, IsOfTheBusiest) {
  EXPECT_EQ(micro_batches_per_replica(8, 2, 2), 4);
  EXPECT_EQ(micro_batches_per_replica(8, 3, 2), 6);  // lanes of 3, 3, 2: two on the first
  EXPECT_EQ(micro_batches_per_replica(7, 2, 1), 7);
  EXPECT_EQ(micro_batches_per_replica(7, 3, 3), 3);
}

}  // namespace
}  // namespace penstock::partition
