#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "configs/config.h"
#include "layers/models/conformer.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/planner/choose/find_best_plan.h"
#include "partition/planner/choose/stage_memory.h"
#include "tests/support/partition/chosen_layers.h"
#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

double max_bytes(const PlanningProblem& problem, const BestPlan& best_plan) {
  return std::ranges::max(
      StageMemory(problem, best_plan.candidate()).of_stages(best_plan.candidate().begin));
}

/// The least memory in which so many stages have a cut, for a schedule and chosen layers.
double min_memory(const PlanningProblem& problem, const ChosenLayers& recomputed) {
  Candidate candidate{.stages = problem.constraints.stages,
                      .batch = problem.constraints.batches.front(),
                      .schedule = problem.constraints.schedules.front(),
                      .recomputed = recomputed};
  for (int k = 0; k < candidate.stages; ++k) candidate.devices.push_back({k});
  return min_full_cut(StageMemory(problem, candidate), problem.model.sequence->size()).bytes;
}

TEST(FindBestPlan, RecomputesSomeLayersWhereMemoryIsShort) {
  const LayerSequence sequence = test::sequence_to_choose_from();
  for (const auto& [schedule, stages] : {std::pair{"gpipe", 1}, {"gpipe", 2}, {"zb-h1", 2}}) {
    PlanningProblem problem = test::planned_sequence(sequence, stages, 1e12);
    problem.model.costs = analytic_cost_model(sequence, {}, default_rates({}));
    problem.cluster.node_links = {{.latency = 0, .bandwidth = 1e12}};
    problem.constraints.stages = stages;
    problem.constraints.schedules = {schedule};
    const BestPlan kept = find_best_plan(problem);
    EXPECT_TRUE(kept.candidate().recomputed.empty());
    PlanningProblem all = problem;
    all.constraints.recomputed = ChosenLayers(sequence.size(), true);
    const double memory =
        0.6 * min_memory(problem, {}) + 0.4 * min_memory(all, *all.constraints.recomputed);
    for (Device& device : problem.cluster.devices) device.memory = memory;
    all.cluster = problem.cluster;
    const BestPlan stage = find_best_plan(all);

    const BestPlan chosen = find_best_plan(problem);
    const auto again = std::ranges::count(chosen.candidate().recomputed, true);
    EXPECT_GT(again, 0) << schedule;
    EXPECT_LT(again, sequence.size()) << schedule;
    EXPECT_LE(max_bytes(problem, chosen), memory);
    EXPECT_LT(chosen.estimate().step_seconds, stage.estimate().step_seconds) << schedule;
    EXPECT_GT(chosen.estimate().step_seconds, kept.estimate().step_seconds) << schedule;
    EXPECT_LE(chosen.lower_bound, chosen.estimate().step_seconds);
    EXPECT_NE(describe(chosen.candidate()).find("recomputing"), std::string::npos);
    EXPECT_NE(chosen.bottleneck.find("memory"), std::string::npos) << chosen.bottleneck;
    EXPECT_TRUE(std::ranges::any_of(chosen.results, [](const CandidateResult& other) {
      return other.candidate.recomputed.empty() && other.lacks && other.lacks->bytes > 0;
    }));
  }
}

TEST(FindBestPlan, OffloadsWhereThatIsFasterThanRecomputing) {
  const LayerSequence sequence = test::sequence_to_choose_from();
  const char* const schedule = "gpipe";
  for (const int stages : {1, 2}) {
    PlanningProblem problem = test::planned_sequence(sequence, stages, 1e12);
    problem.model.costs = analytic_cost_model(sequence, {}, default_rates({}));
    problem.cluster.node_links = {{.latency = 0, .bandwidth = 1e12}};
    problem.constraints.stages = stages;
    problem.constraints.schedules = {schedule};
    problem.constraints.resident = std::nullopt;
    EXPECT_EQ(find_best_plan(problem).candidate().resident, 0) << stages;
    Candidate held{
        .stages = stages, .batch = problem.constraints.batches.front(), .schedule = schedule};
    for (int k = 0; k < stages; ++k) held.devices.push_back({k});
    const auto min = [&] {
      return min_full_cut(StageMemory(problem, held), sequence.size()).bytes;
    };
    const double kept = min();
    held.resident = 2;
    double memory = min();
    held.resident = 0;
    held.recomputed = ChosenLayers(sequence.size(), true);
    memory = std::max(memory, min()) + 1;
    ASSERT_LT(memory, kept) << stages;
    for (Device& device : problem.cluster.devices) {
      device.memory = memory;
      device.host_bandwidth = 1e12;
    }

    const BestPlan offloaded = find_best_plan(problem);
    EXPECT_GE(offloaded.candidate().resident, 2) << stages;
    EXPECT_TRUE(offloaded.candidate().recomputed.empty()) << stages;
    EXPECT_LE(max_bytes(problem, offloaded), memory);
    EXPECT_NE(describe(offloaded.candidate()).find("offloading all but"), std::string::npos);
    PlanningProblem none = problem;
    none.constraints.resident = 0;
    const BestPlan recomputed = find_best_plan(none);
    EXPECT_LT(offloaded.estimate().step_seconds, recomputed.estimate().step_seconds) << stages;

    for (Device& device : problem.cluster.devices) device.host_bandwidth = 10;
    const BestPlan slow = find_best_plan(problem);
    EXPECT_EQ(slow.candidate().resident, 0) << stages;
    EXPECT_EQ(slow.candidate().recomputed, recomputed.candidate().recomputed) << stages;
  }
}

/// Two blocks of a Conformer, which keep everything or recompute what is cheap.
LayerSequence blocks(const char* recompute) {
  const configs::ModelConfig model{
      .features = 17,
      .family = layers::ConformerOptions{
          .width = 12, .heads = 3, .layers = 2, .kernel = 5, .dropout = 0.1}};
  configs::PipelineConfig pipeline;
  pipeline.recompute = recompute;
  return build_model(model, 9, pipeline);
}

std::vector<SampledStep> two_utterances(const BatchDivision& batch, int) {
  SampledStep step;
  step.audio_seconds = 4;
  step.micro_batches.assign(static_cast<std::size_t>(batch.micro_batches), {{61, 40}, {}});
  step.replica.assign(step.micro_batches.size(), 0);
  return {step};
}

TEST(FindBestPlan, RemakesWithinLayersBeforeWholeOnes) {
  const LayerSequence keeping = blocks("none"), recomputing = blocks(kSelective);
  PlanningProblem problem = test::planned_sequence(keeping, 1, 1e12);
  const DeviceRates dear_products{1e9, 1e9, 1e9, 4e9, 8e9, 1e-9};
  problem.model.costs = analytic_cost_model(keeping, {}, dear_products);
  problem.model.selective_costs = analytic_cost_model(recomputing, {}, dear_products);
  problem.constraints.stages = 1;
  problem.constraints.schedules = {"gpipe"};
  problem.model.sample = two_utterances;
  problem.model.bytes = [&](const Candidate& candidate) {
    const ChunkLoad load{{{{61, 40}}}, schedule_of(candidate).of(4), candidate.recomputed};
    return ChunkBytes(candidate.selective ? recomputing : keeping, {load}, {}, {});
  };
  const auto bytes = [&](bool selective, bool whole) {
    Candidate candidate{.batch = problem.constraints.batches.front(),
                        .schedule = "gpipe",
                        .recomputed = ChosenLayers(keeping.size(), whole),
                        .selective = selective,
                        .devices = {{0}}};
    return StageMemory(problem, candidate).of_stages({0, keeping.size()})[0];
  };
  const auto within = [&](double memory) {
    problem.cluster.devices[0].memory = memory;
    return find_best_plan(problem);
  };
  ASSERT_LT(bytes(true, false), bytes(false, false));
  ASSERT_LT(bytes(true, true), bytes(true, false));
  const BestPlan kept = within(bytes(false, false));
  EXPECT_FALSE(kept.candidate().selective);
  EXPECT_TRUE(kept.candidate().recomputed.empty());

  const BestPlan selective = within(bytes(true, false));
  EXPECT_TRUE(selective.candidate().selective);
  EXPECT_TRUE(selective.candidate().recomputed.empty());
  EXPECT_GT(selective.estimate().step_seconds, kept.estimate().step_seconds);
  EXPECT_NE(describe(selective.candidate()).find("recomputing within layers"), std::string::npos);

  const double memory = 0.6 * bytes(true, false) + 0.4 * bytes(true, true);
  const BestPlan both = within(memory);
  EXPECT_TRUE(both.candidate().selective);
  EXPECT_GT(std::ranges::count(both.candidate().recomputed, true), 0);
  EXPECT_LE(max_bytes(problem, both), memory);
  EXPECT_GT(both.estimate().step_seconds, selective.estimate().step_seconds);
  problem.model.selective_costs = {};  // whole layers alone take longer
  EXPECT_GT(within(memory).estimate().step_seconds, both.estimate().step_seconds);
  EXPECT_GT(within(bytes(true, false)).estimate().step_seconds, selective.estimate().step_seconds);
  problem.constraints.recomputed = ChosenLayers();  // what a recipe says stays
  EXPECT_THROW(within(bytes(true, false)), ConfigError);
}

}  // namespace
}  // namespace penstock::partition
