#include "tools/reports/plan_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "runtime/checkpoint/open_checkpoint.h"
#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

/// Two stages of one replica, the first of which has two chunks.
partition::Plan plan_of_ten_billion() {
  partition::Plan plan;
  plan.ranks = {{0}, {1}};
  for (const auto& [stage, billions] : {std::pair{0, 3}, {1, 6}, {0, 1}}) {
    plan.chunks.emplace_back().stage = stage;
    plan.chunks.back().predicted.parameters = std::int64_t{billions} * 1'000'000'000;
  }
  return plan;
}

TEST(PlanCheckpoint, CountsMastersAndSlots) {
  configs::Config recipe;
  const partition::Plan plan = plan_of_ten_billion();
  const PlannedCheckpoint adamw = checkpoint_of(recipe, plan, 10);
  EXPECT_NEAR(adamw.bytes, 120e9, 2e6);
  EXPECT_DOUBLE_EQ(adamw.seconds, adamw.bytes / 10e9);
  EXPECT_EQ(
      text_of(adamw, 10),
      "112 GiB, which takes 12 s to write at 10 GB/s, from copies of up to about 67.1 GiB a rank");
  recipe.optimizer.kind = "sgd";
  EXPECT_NEAR(checkpoint_of(recipe, plan, 10).bytes, 80e9, 2e6);
  recipe.optimizer.state = "bf16";
  EXPECT_NEAR(checkpoint_of(recipe, plan, 10).bytes, 60e9, 2e6);
}

TEST(PlanCheckpoint, CopiesWhatAReplicaOwns) {
  configs::Config recipe;
  partition::Plan plan = plan_of_ten_billion();
  plan.ranks = {{0, 1, 2}, {3, 4, 5}};
  EXPECT_DOUBLE_EQ(checkpoint_of(recipe, plan, 1).copy, 72e9);
  recipe.pipeline.shard_optimizer = true;
  EXPECT_DOUBLE_EQ(checkpoint_of(recipe, plan, 1).copy, 24e9);
  plan.shards_optimizer = false;
  EXPECT_DOUBLE_EQ(checkpoint_of(recipe, plan, 1).copy, 72e9);
}

void expect_as_written(std::vector<std::string> words) {
  const test::TrainingFolder folder(PENSTOCK_BINARY, PENSTOCK_MPIRUN);
  words.insert(words.end(), {"model.hidden=150", "trainer.steps=1", "data.validation="});
  ASSERT_EQ(folder.train("output", words).code, 0);
  double written = 0, largest = 0;
  const runtime::Checkpoint checkpoint = runtime::open_checkpoint(folder.in("output"));
  for (std::size_t shard = 0; shard < checkpoint.shard_count(); ++shard) {
    const auto bytes =
        static_cast<double>(std::filesystem::file_size(checkpoint.shard_path(shard)));
    written += bytes;
    largest = std::max(largest, bytes);
  }
  std::vector<std::string> plan = {"plan",       folder.in("recipe.toml"), "--json",
                                   "--computed", "--disk-gb-per-s",        "0.25"};
  plan.insert(plan.end(), words.begin(), words.end());
  const auto outcome = folder.run(plan);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  const double planned = json["checkpoint_bytes"];
  EXPECT_GE(planned, written);
  EXPECT_LE(planned, written + (1 << 20));
  EXPECT_DOUBLE_EQ(json["checkpoint_s"], planned / 0.25e9);
  EXPECT_NEAR(json["copy_bytes"], largest, 1 << 16);
}

TEST(PlanCheckpoint, IsWhatARunWrites) { expect_as_written({}); }

TEST(PlanCheckpoint, HoldsFrozenWeightsOnce) {
  expect_as_written({"precision.compute=bf16", "lora.rank=2", "lora.targets=[rnn?.input]"});
  expect_as_written({"optimizer.freeze=[rnn*]"});
}

}  // namespace
}  // namespace penstock::tools
