#include "partition/planner/choose/find_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "configs/config.h"
#include "configs/rules.h"
#include "partition/planner/choose/decide.h"
#include "partition/planner/choose/stage_memory.h"
#include "tests/support/partition/planned_sequence.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

class FindChoice : public testing::Test {
 protected:
  FindChoice() {
    problem_.constraints.batches.front() = {.seconds = 4, .micro_batches = 8};
    choice_.batch = problem_.constraints.batches.front();
  }

  const Workload& workload(const PlanChoice& choice) {
    return workloads_.of(choice.batch, choice.replicas);
  }
  double seconds(const PlanChoice& choice) {
    return estimate_choice(problem_, workload(choice), choice).step_seconds;
  }

  const LayerSequence sequence_ = test::small_sequence();
  PlanningProblem problem_ = test::planned_sequence(sequence_, 3, 60'000);
  Workloads workloads_{problem_};
  PlanChoice choice_ = {.stages = 3, .devices = {{0}, {1}, {2}}, .begin = {0, 2, 3, 4}};
};

TEST_F(FindChoice, IsShorterThanWhatItStartsFrom) {
  const auto found = find_choice(problem_, workloads_, choice_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->schedule, "found");
  EXPECT_EQ(found->actions.size(), 3u);
  EXPECT_EQ(found->batch.order.size(), 8u);
  EXPECT_EQ(configs::fault_of_order(found->batch.order, 8), "");
  EXPECT_FALSE(StageMemory(problem_, *found).too_full(found->begin));
  EXPECT_LT(seconds(*found), seconds(choice_));
}

TEST_F(FindChoice, KeepsTheOrderOfARun) {
  problem_.constraints.keeps_order = true;
  const auto sampled = find_choice(problem_, workloads_, choice_);
  ASSERT_TRUE(sampled);
  EXPECT_TRUE(sampled->batch.order.empty());
  choice_.batch.order = {7, 0, 1, 2, 3, 4, 5, 6};
  const auto kept = find_choice(problem_, workloads_, choice_);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->batch.order, choice_.batch.order);
}

TEST_F(FindChoice, IsForTwoChunksDownAndUp) {
  choice_ = {.stages = 2,
             .batch = choice_.batch,
             .schedule = "zb-v",
             .devices = {{0}, {1}},
             .begin = {0, 1, 2, 3, 4}};
  const auto found = find_choice(problem_, workloads_, choice_);
  ASSERT_TRUE(found);
  EXPECT_EQ(ranks_of_chunks(*found), (std::vector{0, 1, 1, 0}));
  EXPECT_EQ(found->actions.size(), 2u);
  EXPECT_EQ(schedule_of(*found).chunk_ranks(), (std::vector{0, 1, 1, 0}));
  EXPECT_FALSE(StageMemory(problem_, *found).too_full(found->begin));
  for (const char* name : {"zb-v", "v-half", "v-min"}) {
    choice_.schedule = name;
    EXPECT_LE(seconds(*found), seconds(choice_)) << name;
  }
}

TEST_F(FindChoice, TakesANamedScheduleThatAloneFits) {
  problem_.constraints.keeps_order = true;
  problem_.constraints.recomputed = ChosenLayers();
  choice_.schedule = "1f1b";
  const double max = std::ranges::max(StageMemory(problem_, choice_).of_stages(choice_.begin));
  for (Device& device : problem_.cluster.devices) device.memory = max;
  ASSERT_FALSE(StageMemory(problem_, choice_).too_full(choice_.begin));
  const auto found = find_choice(problem_, workloads_, choice_);
  ASSERT_TRUE(found);
  EXPECT_FALSE(StageMemory(problem_, *found).too_full(found->begin));
  EXPECT_LE(seconds(*found), seconds(choice_));
}

TEST_F(FindChoice, IsForChunksInARound) {
  choice_ = {.stages = 2,
             .batch = choice_.batch,
             .schedule = "interleaved",
             .devices = {{0}, {1}},
             .begin = {0, 1, 2, 3, 4}};
  const auto found = find_choice(problem_, workloads_, choice_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->schedule, "found");
  EXPECT_EQ(ranks_of_chunks(*found), (std::vector{0, 1, 0, 1}));
  EXPECT_FALSE(StageMemory(problem_, *found).too_full(found->begin));
  EXPECT_LE(seconds(*found), seconds(choice_) * (1 + 1e-12));
}

// Lists with backward in two parts would have to compute a layer again to fit.
TEST_F(FindChoice, IsNoSlowerWhereMemoryIsShort) {
  for (const char* name : {"1f1b", "interleaved"}) {
    const bool round = std::string(name) == "interleaved";
    choice_ = {.stages = 2,
               .batch = choice_.batch,
               .schedule = name,
               .devices = {{0}, {1}},
               .begin = round ? std::vector{0, 1, 2, 3, 4} : std::vector{0, 2, 4}};
    const double max = std::ranges::max(StageMemory(problem_, choice_).of_stages(choice_.begin));
    for (Device& device : problem_.cluster.devices) device.memory = max;
    const auto found = find_choice(problem_, workloads_, choice_);
    ASSERT_TRUE(found) << name;
    EXPECT_FALSE(StageMemory(problem_, *found).too_full(found->begin)) << name;
    EXPECT_LE(seconds(*found), seconds(choice_) * (1 + 1e-12)) << name;
  }
}

TEST_F(FindChoice, StaysBelowZbH1WhereMemoryIsShort) {
  problem_.constraints.stages = 2;
  problem_.constraints.replicas = 1;
  problem_.constraints.recomputed = ChosenLayers();  // none, whatever memory there is
  problem_.search.finds = problem_.search.finds_only = true;
  const auto min = [&](const char* schedule) {
    const PlanChoice choice{
        .stages = 2, .batch = choice_.batch, .schedule = schedule, .devices = {{0}, {1}}};
    return min_full_cut(StageMemory(problem_, choice), sequence_.size()).bytes;
  };
  ASSERT_LT(min("1f1b"), min("zb-h1"));
  for (Device& device : problem_.cluster.devices) device.memory = min("zb-h1") - 1;
  problem_.constraints.schedules = {"zb-h1"};
  EXPECT_THROW(decide(problem_), ConfigError);
  problem_.constraints.schedules = {"zb-h1", "1f1b"};
  const Decision decision = decide(problem_);
  EXPECT_EQ(decision.choice.schedule, "found");
  EXPECT_FALSE(StageMemory(problem_, decision.choice).too_full(decision.choice.begin));
}

TEST_F(FindChoice, TakesBackwardsWholeWhereNoOthersFit) {
  problem_.constraints.stages = problem_.constraints.replicas = 1;
  problem_.constraints.recomputed = ChosenLayers();
  problem_.search.finds = problem_.search.finds_only = true;
  problem_.constraints.schedules = {"1f1b"};
  const PlanChoice whole{.batch = choice_.batch, .devices = {{0}}};
  const double bytes = min_full_cut(StageMemory(problem_, whole), sequence_.size()).bytes;
  for (Device& device : problem_.cluster.devices) device.memory = bytes;
  const Decision decision = decide(problem_);
  EXPECT_EQ(decision.choice.schedule, "found");
  EXPECT_NE(decision.choice.actions.at(0).find("0BW0"), std::string::npos);
}

TEST_F(FindChoice, MayBeACandidateOrTheOnlyOne) {
  problem_.constraints.stages = 2;
  problem_.constraints.replicas = 1;
  problem_.constraints.schedules = {"1f1b"};
  const Decision named = decide(problem_);
  problem_.search.finds = true;
  const Decision best = decide(problem_);
  EXPECT_LE(best.estimate.step_seconds, named.estimate.step_seconds);
  EXPECT_EQ(best.choice.schedule, "found");
  problem_.constraints.stages = 1;
  EXPECT_EQ(decide(problem_).choice.schedule, "1f1b");
  problem_.search.finds_only = true;
  EXPECT_EQ(decide(problem_).choice.schedule, "found");
}

class FoundAlternatives : public testing::Test {
 protected:
  /// Returns candidates of one pipeline of two devices, one for each schedule with equal chunks.
  std::vector<Candidate> same_chunks() {
    std::vector<Candidate> all;
    for (const char* schedule : {"gpipe", "1f1b", "zb-h1"}) {
      PlanChoice choice{.stages = 2,
                        .batch = problem_.constraints.batches.front(),
                        .schedule = schedule,
                        .devices = {{0}, {1}},
                        .begin = {0, 2, 4}};
      ChoiceEstimate estimate =
          estimate_choice(problem_, workloads_.of(choice.batch, 1, false), choice);
      all.push_back({.choice = std::move(choice), .estimate = std::move(estimate)});
    }
    return all;
  }

  LayerSequence sequence_ = test::small_sequence();
  PlanningProblem problem_ = [&] {
    PlanningProblem problem = test::planned_sequence(sequence_, 2, 1e9);
    problem.search.find_effort = 20'000;
    return problem;
  }();
  Workloads workloads_{problem_};
};

TEST_F(FoundAlternatives, HaveOneOfThoseWithTheSameChunks) {
  EXPECT_EQ(found_candidates(problem_, workloads_, same_chunks()).size(), 1u);
}

TEST_F(FoundAlternatives, TakeTheNextWhereOneFails) {
  std::vector<Candidate> all = same_chunks();
  all[2].choice.recomputed.assign(4, true);  // without that there is no room
  problem_.constraints.recomputed = ChosenLayers();
  problem_.training.bytes = [&](const PlanChoice& choice) {
    const std::int64_t frames = choice.recomputed.empty() ? 1'000'000 : 12;
    const ChunkLoad load{{{frames}}, schedule_of(choice).of(4), choice.recomputed};
    return ChunkBytes(sequence_, {load}, {}, {});
  };
  for (Device& device : problem_.cluster.devices) device.memory = 1e6;
  const auto found = found_candidates(problem_, workloads_, all);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().choice.recomputed, ChosenLayers(4, true));
  all.pop_back();
  EXPECT_TRUE(found_candidates(problem_, workloads_, all).empty());
}

TEST_F(FoundAlternatives, AreNoneWithoutTimeUnlessOneMustBe) {
  const TimeLimit over(0);
  problem_.search.time = &over;
  EXPECT_TRUE(found_candidates(problem_, workloads_, same_chunks()).empty());
  problem_.search.finds_only = true;
  EXPECT_EQ(found_candidates(problem_, workloads_, same_chunks()).size(), 1u);
}

}  // namespace

}  // namespace penstock::partition
