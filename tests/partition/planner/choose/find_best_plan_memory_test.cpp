#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "configs/config.h"
#include "partition/planner/choose/find_best_plan.h"
#include "partition/planner/choose/stage_memory.h"
#include "tests/support/partition/chosen_layers.h"
#include "tests/support/partition/planned_sequence.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

/// Bytes of small_sequence() with an optimizer that is shared where the candidate says so.
void count_sharing(PlanningProblem& problem) {
  problem.model.bytes = [&sequence = *problem.model.sequence](const Candidate& candidate) {
    const int runs = (candidate.batch.micro_batches + candidate.replicas - 1) / candidate.replicas;
    ParameterBytes parameters{.lanes_of = std::vector<int>(candidate.replicas, 1)};
    parameters.kinds.sharing = {.replicas = candidate.shards_optimizer ? candidate.replicas : 1};
    return ChunkBytes(sequence,
                      {{{{{12, 5}}}, schedule_of(candidate).of(runs), candidate.recomputed}}, {},
                      parameters);
  };
}

TEST(FindBestPlan, ShardsTheOptimizerWhereMemoryBinds) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = test::planned_sequence(sequence, 2, 1e9);
  count_sharing(problem);
  problem.constraints.stages = 1;
  problem.constraints.replicas = 2;
  const BestPlan whole = find_best_plan(problem);
  const double needed =
      StageMemory(problem, whole.candidate()).of_stages(whole.candidate().begin)[0];
  for (Device& device : problem.cluster.devices) device.memory = needed - 1;
  EXPECT_FALSE(test::message_of<ConfigError>([&] { find_best_plan(problem); }).empty());
  problem.constraints.shards_optimizer.reset();
  const BestPlan shared = find_best_plan(problem);
  EXPECT_TRUE(shared.candidate().shards_optimizer);
  EXPECT_TRUE(shared.candidate().recomputed.empty());
  EXPECT_NE(describe(shared.candidate()).find("optimizer sharded over replicas"),
            std::string::npos);
  EXPECT_NE(shared.bottleneck.find("for which replicas share the optimizer (else stage 0 lacks"),
            std::string::npos)
      << shared.bottleneck;
  EXPECT_LT(StageMemory(problem, shared.candidate()).of_stages(shared.candidate().begin)[0],
            needed - 1);
}

TEST(FindBestPlan, ShardsAndOffloadsWhereOnlyBothFit) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = test::planned_sequence(sequence, 2, 1e9);
  count_sharing(problem);
  problem.constraints.schedules = {"gpipe"};
  problem.constraints.batches = {{.seconds = 4, .micro_batches = 10}};
  problem.constraints.stages = 1;
  problem.constraints.replicas = 2;
  problem.constraints.recomputed = ChosenLayers();
  const Candidate whole = find_best_plan(problem).candidate();
  const auto bytes = [&](int resident, bool shards) {
    Candidate other = whole;
    other.resident = resident;
    other.shards_optimizer = shards;
    return StageMemory(problem, other).of_stages(whole.begin).front();
  };
  const double both = bytes(2, true);
  ASSERT_LT(both, bytes(0, true));
  ASSERT_LT(both, bytes(2, false));
  for (Device& device : problem.cluster.devices) {
    device.memory = both;
    device.host_bandwidth = 1e12;
  }
  problem.constraints.shards_optimizer.reset();
  problem.constraints.resident.reset();
  const BestPlan best_plan = find_best_plan(problem);
  EXPECT_TRUE(best_plan.candidate().shards_optimizer);
  EXPECT_EQ(best_plan.candidate().resident, 2);
  EXPECT_LE(
      StageMemory(problem, best_plan.candidate()).of_stages(best_plan.candidate().begin).front(),
      both);
}

TEST(FindBestPlan, ShardsTheOptimizerWhereThatIsFaster) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = test::planned_sequence(sequence, 3, 1e9);
  count_sharing(problem);
  problem.constraints.shards_optimizer.reset();
  problem.constraints.stages = 1;
  EXPECT_FALSE(find_best_plan(problem).candidate().shards_optimizer);  // there is nothing to gain
  problem.model.parameter_s = 1;
  const BestPlan shared = find_best_plan(problem);
  EXPECT_TRUE(shared.candidate().shards_optimizer);
  EXPECT_EQ(shared.bottleneck.find("memory"), std::string::npos) << shared.bottleneck;
  for (const bool shards : {false, true}) {
    PlanningProblem fixed = problem;
    fixed.constraints.shards_optimizer = shards;
    const BestPlan other = find_best_plan(fixed);
    EXPECT_EQ(other.candidate().shards_optimizer, shards);
    EXPECT_LE(shared.estimate().step_seconds, other.estimate().step_seconds) << shards;
  }
  problem.cluster.node_links.front().bandwidth = 0.5;  // a gather is dearer than the update
  EXPECT_FALSE(find_best_plan(problem).candidate().shards_optimizer);
  problem.constraints.replicas = 1;
  problem.constraints.shards_optimizer = true;
  EXPECT_FALSE(find_best_plan(problem).candidate().shards_optimizer);
}

// The one device that has room for the model is the slowest.
TEST(FindBestPlan, FindsTheOnlyDeviceThatFits) {
  const LayerSequence sequence = test::sequence_to_choose_from();
  PlanningProblem problem = test::planned_sequence(sequence, 6, 1e12);
  problem.constraints.recomputed = ChosenLayers();
  problem.model.costs = analytic_cost_model(sequence, {}, default_rates({}));
  problem.constraints.schedules = {"gpipe"};
  problem.constraints.batches.clear();
  for (int number = 6; number < 12; ++number)
    problem.constraints.batches.push_back({.seconds = 4, .micro_batches = number});
  double small = 1e12;
  for (const BatchDivision& batch : problem.constraints.batches)
    for (int stages = 1; stages <= 6; ++stages)
      for (int replicas = 1; replicas <= 6 / stages; ++replicas) {
        Candidate candidate{
            .stages = stages, .replicas = replicas, .batch = batch, .schedule = "gpipe"};
        candidate.devices.assign(stages, std::vector<int>(replicas, 0));
        small =
            std::min(small, min_full_cut(StageMemory(problem, candidate), sequence.size()).bytes);
      }
  for (Device& device : problem.cluster.devices) device.memory = 0.95 * small;
  problem.cluster.devices[4].memory = 1e12;
  problem.cluster.devices[4].speed = 0.1;
  const BestPlan best_plan = find_best_plan(problem);
  EXPECT_EQ(best_plan.candidate().devices, (std::vector<std::vector<int>>{{4}}));
}

TEST(FindBestPlan, SaysThatTimeEndedTheSearch) {
  const LayerSequence sequence = test::sequence_to_choose_from();
  PlanningProblem problem = test::planned_sequence(sequence, 12, 1e12);
  problem.model.costs = analytic_cost_model(sequence, {}, default_rates({}));
  problem.constraints.recomputed = ChosenLayers();
  problem.constraints.schedules = {"gpipe"};
  problem.constraints.batches.clear();
  for (int number = 12; number <= 24; ++number)
    problem.constraints.batches.push_back({.seconds = 4, .micro_batches = number});
  Candidate one{
      .batch = problem.constraints.batches.front(), .schedule = "gpipe", .devices = {{0}}};
  const double parameters = StageMemory(problem, one).bytes().at_least(0, sequence.size());
  for (Device& device : problem.cluster.devices) device.memory = parameters;
  const TimeLimit over(0);
  problem.search.time = &over;
  const auto ended = test::message_of<ConfigError>([&] { find_best_plan(problem); });
  EXPECT_NE(ended.find("no plan was found in the time limit of 0 s"), std::string::npos) << ended;
  EXPECT_NE(ended.find("The closest is"), std::string::npos) << ended;
  for (Device& device : problem.cluster.devices) device.memory = parameters / 100;
  const auto proven = test::message_of<ConfigError>([&] { find_best_plan(problem); });
  EXPECT_NE(proven.find("no plan fits"), std::string::npos) << proven;
}

// Time that is over leaves the first candidate that fits, though candidates are tried in rounds.
TEST(FindBestPlan, TakesTheFirstThatFitsWithoutTime) {
  const LayerSequence sequence = test::small_sequence();
  const TimeLimit over(0);
  int ended = 0, behind_others = 0;
  for (double memory = 6000; memory < 16000; memory += 250) {
    PlanningProblem problem = test::planned_sequence(sequence, 4, memory);
    problem.cluster.node_links = {{.latency = 0, .bandwidth = 1e9}};
    problem.constraints.batches = {{4, 4}, {3, 6}, {2, 8}};
    problem.search.time = &over;
    try {
      const BestPlan best_plan = find_best_plan(problem);
      const auto fitting = std::ranges::count_if(
          best_plan.results, [](const CandidateResult& one) { return one.estimate.has_value(); });
      EXPECT_EQ(fitting, 1) << memory;
      ++ended;
      behind_others += std::ranges::any_of(
          best_plan.results, [](const CandidateResult& one) { return one.lacks.has_value(); });
    } catch (const ConfigError&) {
    }
  }
  EXPECT_GT(ended, 10);
  EXPECT_GT(behind_others, 3);
}

}  // namespace
}  // namespace penstock::partition
