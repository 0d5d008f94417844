#include "runtime/trainer/resume.h"

#include <gtest/gtest.h>

#include "configs/flatten.h"

namespace penstock {
namespace {

struct Choice {
  int lanes = 0;
  std::string told;
};

Choice choose(int asked, int replicas, int saved) {
  Config config;
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

TEST(ChooseLanes, SaysWhereARunChangesThem) {
  EXPECT_EQ(choose(3, 2, 4).lanes, 3);
  EXPECT_NE(choose(3, 2, 4).told.find("4 lanes, trainer.lanes = 3: "), std::string::npos);
  EXPECT_EQ(choose(0, 6, 4).lanes, 6);
  EXPECT_NE(choose(0, 6, 4).told.find("4 lanes, too few for 6 replicas: "), std::string::npos);
}

TEST(NoteThreads, SaysWhereARunChangesThem) {
  Config config;
  config.trainer.threads = 2;
  TrainingState state;
  state.config = flatten(config);
  std::string told;
  const auto note = [&](const std::string& text) { told += text; };
  note_threads(config, state, note);
  EXPECT_EQ(told, "");
  config.trainer.threads = 3;
  note_threads(config, state, note);
  EXPECT_NE(told.find("2 threads a rank, trainer.threads = 3: "), std::string::npos) << told;
}

TEST(NoteReduction, SaysWhereARunChangesIt) {
  Config config;
  TrainingState state;
  state.config = flatten(config);
  std::string told;
  const auto note = [&](const std::string& text) { told += text; };
  note_reduction(config, state, note);
  EXPECT_EQ(told, "");
  config.pipeline.reduction = "nccl";
  note_reduction(config, state, note);
  EXPECT_NE(told.find("pipeline.reduction was lanes, from here on it is nccl: "), std::string::npos)
      << told;
}

}  // namespace
}  // namespace penstock
