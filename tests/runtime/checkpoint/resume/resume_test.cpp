#include "runtime/checkpoint/resume/resume.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "configs/flatten.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

struct Choice {
  int lanes = 0;
  std::string told;
};

Choice choose(int asked, int replicas, int saved) {
  configs::Config config;
  config.trainer.lanes = asked;
  config.pipeline.replicas = replicas;
  TrainingState state;
  state.lanes = saved;
  Choice choice;
  choice.lanes = choose_lanes(config, saved > 0 ? &state : nullptr,
                              [&](const std::string& text) { choice.told = text; });
  return choice;
}

TEST(ChooseLanes, FollowsTheRecipeInANewRun) {
  EXPECT_EQ(choose(0, 3, 0).lanes, 3);
  EXPECT_EQ(choose(5, 3, 0).lanes, 5);
  EXPECT_EQ(choose(5, 3, 0).told, "");
}

TEST(ChooseLanes, KeepsTheCheckpoints) {
  EXPECT_EQ(choose(0, 2, 4).lanes, 4);
  EXPECT_EQ(choose(4, 1, 4).lanes, 4);
  EXPECT_EQ(choose(0, 2, 4).told + choose(4, 1, 4).told, "");
}

TEST(ChooseLanes, AreNoMoreThanAScaledStepHas) {
  configs::Config config;
  config.trainer.scaling = "linear";
  config.data.micro_batches = 2;
  TrainingState state;
  state.lanes = 4;
  EXPECT_EQ(choose_lanes(config, &state, [](const std::string&) {}), 2);
}

TEST(ChooseLanes, SaysWhereARunChangesThem) {
  EXPECT_EQ(choose(3, 2, 4).lanes, 3);
  EXPECT_NE(choose(3, 2, 4).told.find("4 lanes, but trainer.lanes = 3: "), std::string::npos);
  EXPECT_EQ(choose(0, 6, 4).lanes, 6);
  EXPECT_NE(choose(0, 6, 4).told.find("4 lanes, but there are 6 replicas: "), std::string::npos);
}

TEST(ChooseOrder, KeepsTheCheckpoints) {
  configs::Config config;
  config.trainer.order = {1, 0};
  EXPECT_EQ(choose_order(config, nullptr), (std::vector{1, 0}));
  TrainingState state;
  state.config = configs::flatten(config);
  EXPECT_EQ(choose_order(config, &state), (std::vector{1, 0}));
  EXPECT_EQ(choose_order(configs::Config(), &state), (std::vector{1, 0}));
  state.config = configs::flatten(configs::Config());
  EXPECT_TRUE(choose_order(configs::Config(), &state).empty());
}

TEST(ChooseOrder, RejectsAnother) {
  const auto error_message = [](std::vector<int> asked, std::vector<int> kept,
                                const std::string& plan = "") {
    configs::Config config;
    config.trainer.order = std::move(kept);
    TrainingState state;
    state.config = configs::flatten(config);
    config.trainer.order = std::move(asked);
    config.pipeline.plan = plan;
    return test::message_of<ConfigError>([&] { (void)choose_order(config, &state); });
  };
  const std::string other = error_message({1, 0}, {0, 1}), sampled = error_message({1, 0}, {});
  EXPECT_NE(other.find("trainer.order is [1, 0], but"), std::string::npos) << other;
  EXPECT_NE(other.find("in the order [0, 1]"), std::string::npos) << other;
  EXPECT_NE(sampled.find("as sampled"), std::string::npos) << sampled;
  // The order may be the recipe's or the plan's where a plan is named, so the message names both.
  const std::string planned = error_message({1, 0}, {}, "plan.toml");
  EXPECT_NE(planned.find("[1, 0] (of the recipe or of plan.toml), but"), std::string::npos)
      << planned;
  EXPECT_NE(planned.find("plan anew"), std::string::npos) << planned;
}

TEST(NoteThreads, SaysWhereARunChangesThem) {
  configs::Config config;
  config.trainer.threads = 2;
  TrainingState state;
  state.config = configs::flatten(config);
  std::string told;
  const auto note = [&](const std::string& text) { told += text; };
  note_threads(config, state, note);
  EXPECT_EQ(told, "");
  config.trainer.threads = 3;
  note_threads(config, state, note);
  EXPECT_NE(told.find("2 threads a rank, and now trainer.threads = 3: "), std::string::npos)
      << told;
}

TEST(NoteReduction, SaysWhereARunChangesIt) {
  configs::Config config;
  TrainingState state;
  state.config = configs::flatten(config);
  std::string told;
  const auto note = [&](const std::string& text) { told += text; };
  note_reduction(config, state, note);
  EXPECT_EQ(told, "");
  config.pipeline.reduction = "nccl";
  note_reduction(config, state, note);
  EXPECT_NE(told.find("pipeline.reduction was lanes, and now it is nccl: "), std::string::npos)
      << told;
}

}  // namespace
}  // namespace penstock::runtime
