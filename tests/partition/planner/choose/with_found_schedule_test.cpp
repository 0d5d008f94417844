#include "partition/planner/choose/with_found_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "configs/config.h"
#include "configs/rules.h"
#include "partition/planner/choose/find_best_plan.h"
#include "partition/planner/choose/stage_memory.h"
#include "tests/support/partition/planned_sequence.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

class WithFoundSchedule : public testing::Test {
 protected:
  WithFoundSchedule() {
    problem_.constraints.batches.front() = {.seconds = 4, .micro_batches = 8};
    candidate_.batch = problem_.constraints.batches.front();
  }

  const Workload& workload(const Candidate& candidate) {
    return workloads_.of(candidate.batch, candidate.replicas);
  }
  double seconds(const Candidate& candidate) {
    return estimate_candidate(problem_, workload(candidate), candidate).step_seconds;
  }

  const LayerSequence sequence_ = test::small_sequence();
  PlanningProblem problem_ = test::planned_sequence(sequence_, 3, 60'000);
  Workloads workloads_{problem_};
  Candidate candidate_ = {.stages = 3, .devices = {{0}, {1}, {2}}, .begin = {0, 2, 3, 4}};
};

TEST_F(WithFoundSchedule, IsShorterThanWhatItStartsFrom) {
  const auto found = with_found_schedule(problem_, workloads_, candidate_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->schedule, "found");
  EXPECT_EQ(found->actions.size(), 3u);
  EXPECT_EQ(found->batch.order.size(), 8u);
  EXPECT_EQ(configs::fault_of_order(found->batch.order, 8), "");
  EXPECT_FALSE(StageMemory(problem_, *found).too_full(found->begin));
  EXPECT_LT(seconds(*found), seconds(candidate_));
}

TEST_F(WithFoundSchedule, KeepsTheOrderOfARun) {
  problem_.constraints.keeps_order = true;
  const auto sampled = with_found_schedule(problem_, workloads_, candidate_);
  ASSERT_TRUE(sampled);
  EXPECT_TRUE(sampled->batch.order.empty());
  candidate_.batch.order = {7, 0, 1, 2, 3, 4, 5, 6};
  const auto kept = with_found_schedule(problem_, workloads_, candidate_);
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->batch.order, candidate_.batch.order);
}

TEST_F(WithFoundSchedule, IsForTwoChunksDownAndUp) {
  candidate_ = {.stages = 2,
                .batch = candidate_.batch,
                .schedule = "zb-v",
                .devices = {{0}, {1}},
                .begin = {0, 1, 2, 3, 4}};
  const auto found = with_found_schedule(problem_, workloads_, candidate_);
  ASSERT_TRUE(found);
  EXPECT_EQ(ranks_of_chunks(*found), (std::vector{0, 1, 1, 0}));
  EXPECT_EQ(found->actions.size(), 2u);
  EXPECT_EQ(schedule_of(*found).chunk_ranks(), (std::vector{0, 1, 1, 0}));
  EXPECT_FALSE(StageMemory(problem_, *found).too_full(found->begin));
  for (const char* name : {"zb-v", "v-half", "v-min"}) {
    candidate_.schedule = name;
    EXPECT_LE(seconds(*found), seconds(candidate_)) << name;
  }
}

TEST_F(WithFoundSchedule, TakesANamedScheduleThatAloneFits) {
  problem_.constraints.keeps_order = true;
  problem_.constraints.recomputed = ChosenLayers();
  candidate_.schedule = "1f1b";
  const double max =
      std::ranges::max(StageMemory(problem_, candidate_).of_stages(candidate_.begin));
  for (Device& device : problem_.cluster.devices) device.memory = max;
  ASSERT_FALSE(StageMemory(problem_, candidate_).too_full(candidate_.begin));
  const auto found = with_found_schedule(problem_, workloads_, candidate_);
  ASSERT_TRUE(found);
  EXPECT_FALSE(StageMemory(problem_, *found).too_full(found->begin));
  EXPECT_LE(seconds(*found), seconds(candidate_));
}

TEST_F(WithFoundSchedule, IsForChunksInARound) {
  candidate_ = {.stages = 2,
                .batch = candidate_.batch,
                .schedule = "interleaved",
                .devices = {{0}, {1}},
                .begin = {0, 1, 2, 3, 4}};
  const auto found = with_found_schedule(problem_, workloads_, candidate_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->schedule, "found");
  EXPECT_EQ(ranks_of_chunks(*found), (std::vector{0, 1, 0, 1}));
  EXPECT_FALSE(StageMemory(problem_, *found).too_full(found->begin));
  EXPECT_LE(seconds(*found), seconds(candidate_) * (1 + 1e-12));
}

// Lists with backward in two parts would have to compute a layer again to fit.
TEST_F(WithFoundSchedule, IsNoSlowerWhereMemoryIsShort) {
  for (const char* name : {"1f1b", "interleaved"}) {
    const bool round = std::string(name) == "interleaved";
    candidate_ = {.stages = 2,
                  .batch = candidate_.batch,
                  .schedule = name,
                  .devices = {{0}, {1}},
                  .begin = round ? std::vector{0, 1, 2, 3, 4} : std::vector{0, 2, 4}};
    const double max =
        std::ranges::max(StageMemory(problem_, candidate_).of_stages(candidate_.begin));
    for (Device& device : problem_.cluster.devices) device.memory = max;
    const auto found = with_found_schedule(problem_, workloads_, candidate_);
    ASSERT_TRUE(found) << name;
    EXPECT_FALSE(StageMemory(problem_, *found).too_full(found->begin)) << name;
    EXPECT_LE(seconds(*found), seconds(candidate_) * (1 + 1e-12)) << name;
  }
}

TEST_F(WithFoundSchedule, StaysBelowZbH1WhereMemoryIsShort) {
  problem_.constraints.stages = 2;
  problem_.constraints.replicas = 1;
  problem_.constraints.recomputed = ChosenLayers();  // none, whatever memory there is
  problem_.search.finds = problem_.search.finds_only = true;
  const auto min = [&](const char* schedule) {
    const Candidate candidate{
        .stages = 2, .batch = candidate_.batch, .schedule = schedule, .devices = {{0}, {1}}};
    return min_full_cut(StageMemory(problem_, candidate), sequence_.size()).bytes;
  };
  ASSERT_LT(min("1f1b"), min("zb-h1"));
  for (Device& device : problem_.cluster.devices) device.memory = min("zb-h1") - 1;
  problem_.constraints.schedules = {"zb-h1"};
  EXPECT_THROW(find_best_plan(problem_), ConfigError);
  problem_.constraints.schedules = {"zb-h1", "1f1b"};
  const BestPlan best_plan = find_best_plan(problem_);
  EXPECT_EQ(best_plan.candidate().schedule, "found");
  EXPECT_FALSE(StageMemory(problem_, best_plan.candidate()).too_full(best_plan.candidate().begin));
}

TEST_F(WithFoundSchedule, TakesBackwardsWholeWhereNoOthersFit) {
  problem_.constraints.stages = problem_.constraints.replicas = 1;
  problem_.constraints.recomputed = ChosenLayers();
  problem_.search.finds = problem_.search.finds_only = true;
  problem_.constraints.schedules = {"1f1b"};
  const Candidate whole{.batch = candidate_.batch, .devices = {{0}}};
  const double bytes = min_full_cut(StageMemory(problem_, whole), sequence_.size()).bytes;
  for (Device& device : problem_.cluster.devices) device.memory = bytes;
  const BestPlan best_plan = find_best_plan(problem_);
  EXPECT_EQ(best_plan.candidate().schedule, "found");
  EXPECT_NE(best_plan.candidate().actions.at(0).find("0BW0"), std::string::npos);
}

TEST_F(WithFoundSchedule, MayBeACandidateOrTheOnlyOne) {
  problem_.constraints.stages = 2;
  problem_.constraints.replicas = 1;
  problem_.constraints.schedules = {"1f1b"};
  const BestPlan named = find_best_plan(problem_);
  problem_.search.finds = true;
  const BestPlan best = find_best_plan(problem_);
  EXPECT_LE(best.estimate().step_seconds, named.estimate().step_seconds);
  EXPECT_EQ(best.candidate().schedule, "found");
  problem_.constraints.stages = 1;
  EXPECT_EQ(find_best_plan(problem_).candidate().schedule, "1f1b");
  problem_.search.finds_only = true;
  EXPECT_EQ(find_best_plan(problem_).candidate().schedule, "found");
}

class CandidatesWithFoundSchedules : public testing::Test {
 protected:
  /// Returns candidates of one pipeline of two devices, one for each schedule with equal chunks.
  std::vector<CandidateResult> same_chunks() {
    std::vector<CandidateResult> all;
    for (const char* schedule : {"gpipe", "1f1b", "zb-h1"}) {
      Candidate candidate{.stages = 2,
                          .batch = problem_.constraints.batches.front(),
                          .schedule = schedule,
                          .devices = {{0}, {1}},
                          .begin = {0, 2, 4}};
      CandidateEstimate estimate =
          estimate_candidate(problem_, workloads_.of(candidate.batch, 1, false), candidate);
      all.push_back({.candidate = std::move(candidate), .estimate = std::move(estimate)});
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

TEST_F(CandidatesWithFoundSchedules, HaveOneOfThoseWithTheSameChunks) {
  EXPECT_EQ(candidates_with_found_schedules(problem_, workloads_, same_chunks()).size(), 1u);
}

TEST_F(CandidatesWithFoundSchedules, TakeTheNextWhereOneFails) {
  std::vector<CandidateResult> all = same_chunks();
  all[2].candidate.recomputed.assign(4, true);  // without that there is no room
  problem_.constraints.recomputed = ChosenLayers();
  problem_.model.bytes = [&](const Candidate& candidate) {
    const std::int64_t frames = candidate.recomputed.empty() ? 1'000'000 : 12;
    const ChunkLoad load{{{{frames}}}, schedule_of(candidate).of(4), candidate.recomputed};
    return ChunkBytes(sequence_, {load}, {}, {});
  };
  for (Device& device : problem_.cluster.devices) device.memory = 1e6;
  const auto found = candidates_with_found_schedules(problem_, workloads_, all);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().candidate.recomputed, ChosenLayers(4, true));
  all.pop_back();
  EXPECT_TRUE(candidates_with_found_schedules(problem_, workloads_, all).empty());
}

TEST_F(CandidatesWithFoundSchedules, AreNoneWithoutTimeUnlessOneMustBe) {
  const TimeLimit over(0);
  problem_.search.time = &over;
  EXPECT_TRUE(candidates_with_found_schedules(problem_, workloads_, same_chunks()).empty());
  problem_.search.finds_only = true;
  EXPECT_EQ(candidates_with_found_schedules(problem_, workloads_, same_chunks()).size(), 1u);
}

}  // namespace

}  // namespace penstock::partition
