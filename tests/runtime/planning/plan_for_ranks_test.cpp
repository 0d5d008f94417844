#include <gtest/gtest.h>

#include "base/error.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "runtime/planning/plan.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class PlanForRanks : public testing::Test {
 protected:
  PlanForRanks() { test::write_tone_corpus(in("train.jsonl"), 13, 1); }
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }

  configs::Config recipe(std::vector<std::string> overrides) const {
    return configs::parse_config(test::tone_recipe(in("train.jsonl"), "", in("output")),
                                 "recipe.toml", layers::model_families(), overrides);
  }

  test::TemporaryFolder folder_;
};

TEST_F(PlanForRanks, CutsTheModelForTheManifestsUtterances) {
  const configs::Config config = recipe({"pipeline.stages=3"});
  const RankPlan planned = plan_for_ranks(config, false);
  ASSERT_EQ(planned.plan.chunks.size(), 3u);
  EXPECT_EQ(planned.plan.lanes, 2);
  EXPECT_EQ(planned.estimate.idle.size(), 3u);
  EXPECT_GT(planned.estimate.step_seconds, planned.estimate.micro_batch_seconds);
  EXPECT_EQ(planned.plan, plan_for_ranks(config, false).plan);  // computed costs never vary
  EXPECT_FALSE(std::filesystem::exists(in("output")));
  EXPECT_FALSE(std::filesystem::exists(in("train.jsonl.index")));
}

TEST_F(PlanForRanks, LongerMicroBatchesNeedMoreMemory) {
  const auto saved = [&](const char* seconds) {
    const configs::Config config = recipe({std::string("data.micro_batch_seconds=") + seconds});
    return plan_for_ranks(config, false).plan.chunks.front().predicted.bytes.saved;
  };
  EXPECT_LT(saved("1.2"), saved("2.4"));
}

TEST_F(PlanForRanks, RecomputationSparesMemoryAndTakesTime) {
  const auto plan = [&](const std::string& recompute) {
    return plan_for_ranks(recipe({"pipeline.stages=2", "pipeline.schedule=gpipe",
                                  "data.micro_batches=4", "pipeline.recompute=" + recompute}),
                          false);
  };
  const RankPlan kept = plan("none"), again = plan("stage");
  EXPECT_LT(again.plan.bytes_of(0).saved, kept.plan.bytes_of(0).saved);
  EXPECT_GT(again.estimate.step_seconds, kept.estimate.step_seconds);
}

TEST_F(PlanForRanks, GoesWithoutAMissingValidationManifest) {
  test::write_tone_corpus(in("long.jsonl"), 29, 3);
  const auto bytes = [](const RankPlan& planned) { return planned.plan.bytes_of(0).total(); };
  const RankPlan without = plan_for_ranks(recipe({}), false);
  const RankPlan missing =
      plan_for_ranks(recipe({"data.validation=" + in("gone").string()}), false);
  const RankPlan counted = plan_for_ranks(
      recipe({"data.validation=" + in("long.jsonl").string(), "trainer.validate_every=-1"}), false);
  EXPECT_EQ(missing.plan, without.plan);
  EXPECT_EQ(without.not_counted, "");
  EXPECT_EQ(missing.not_counted,
            "validation: the manifest " + in("gone").string() + " is not here");
  EXPECT_EQ(counted.not_counted, "");
  EXPECT_GE(bytes(counted), bytes(without));
  EXPECT_THROW((void)plan_for_ranks(recipe({"data.validation=" + in("").string()}), false),
               DataError);
}

/// A pattern is no path that exists, and counts as the file that it stands for.
TEST_F(PlanForRanks, CountsValidationThatIsAPattern) {
  test::write_tone_corpus(in("long_0.jsonl"), 29, 3);
  const auto plan = [&](const char* name) {
    return plan_for_ranks(
        recipe({"data.validation=" + in(name).string(), "trainer.validate_every=-1"}), false);
  };
  const RankPlan pattern = plan("long_{0..0}.jsonl");
  EXPECT_EQ(pattern.not_counted, "");
  EXPECT_EQ(pattern.plan, plan("long_0.jsonl").plan);
}

TEST_F(PlanForRanks, RejectsWhatTrainingWouldReject) {
  const auto refused = [&](std::vector<std::string> overrides) {
    return test::message_of<ConfigError>([&] { (void)plan_for_ranks(recipe(overrides), false); });
  };
  EXPECT_NE(refused({"model.features=40"}).find("model.features = 40"), std::string::npos);
  EXPECT_NE(refused({"data.train="}).find("data.train is not set"), std::string::npos);
  EXPECT_NE(refused({"data.micro_batch_seconds=0.2"}).find("data.micro_batch_seconds"),
            std::string::npos);
  EXPECT_THROW((void)plan_for_ranks(recipe({"data.train=/gone"}), false), DataError);
}

}  // namespace
}  // namespace penstock::runtime
