#include "partition/planner/report/best_plan_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

/// Returns a plan of one chunk a stage.
Plan plan_of(const PlanningProblem& problem, const Candidate& candidate) {
  Plan plan{.model = "small", .schedule = candidate.schedule, .micro_batches = 4, .lanes = 2};
  const ChunkBytes bytes = problem.model.bytes(candidate);
  for (int k = 0; k < candidate.stages; ++k) {
    ChunkPlan& chunk = plan.chunks.emplace_back(ChunkPlan{k, candidate.begin[k]});
    for (int i = candidate.begin[k]; i < candidate.begin[k + 1]; ++i)
      chunk.layers.push_back(problem.model.sequence->layers[i]->name());
    chunk.predicted.bytes = bytes(candidate.begin[k], candidate.begin[k + 1], k);
  }
  return plan;
}

TEST(BestPlanView, ShowsTheBestPlansEstimates) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = test::planned_sequence(sequence, 4, 1e5);
  problem.constraints.stages = 2;
  problem.constraints.replicas = 2;
  const BestPlan best_plan = find_best_plan(problem);
  const Candidate& candidate = best_plan.candidate();
  const Plan plan = plan_of(problem, candidate);
  const PlanView view = view_of(problem, best_plan, plan);
  EXPECT_EQ(view.title, describe(candidate));
  EXPECT_EQ(view.step_seconds, best_plan.estimate().step_seconds);
  ASSERT_EQ(view.replicas.size(), 2u);
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(view.stages[k].bytes(), plan.chunks[k].predicted.bytes.total());
    EXPECT_EQ(view.stages[k].limit, 1e5);
    double max = 0;
    for (const MemoryPoint& point : view.replicas[0].memory[k]) max = std::max(max, point.bytes);
    EXPECT_LE(max, view.stages[k].bytes() * (1 + 1e-12));
    EXPECT_GT(max, view.stages[k].bytes() - plan.chunks[k].predicted.bytes.saved);
  }
  // Both ways between the stages of each replica, and a ring of two for each stage.
  EXPECT_EQ(view.traffic.size(), 8u);
  EXPECT_EQ(view.candidates.front().why, "");
  EXPECT_EQ(view.candidates.size(), 2u);  // the other schedule

  BestPlan again = best_plan;
  const auto recomputation = [&] {
    for (const auto& [name, value] : view_of(problem, again, plan).facts)
      if (name == "recomputation") return value;
    return std::string();
  };
  EXPECT_EQ(recomputation(), "none");
  again.results.front().candidate.recomputed.assign(sequence.size(), false);
  again.results.front().candidate.recomputed[1] = true;
  EXPECT_EQ(recomputation(), "stage 0: relu, recomputed in backward");
  again.results.front().candidate.recompute_exact = false;
  EXPECT_EQ(recomputation(),
            "stage 0: relu, recomputed in backward; not all choices were tried: "
            "a cheaper one may exist");
}

// A view is made without the planner's account of memory.
TEST(BestPlanView, TellsWhatWaitsOnTheHost) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = test::planned_sequence(sequence, 2, 1e5);
  problem.constraints.stages = 2;
  problem.constraints.schedules = {"gpipe"};
  problem.constraints.resident = 2;
  for (Device& device : problem.cluster.devices) device.host_bandwidth = 100;
  const BestPlan best_plan = find_best_plan(problem);
  const Plan plan = plan_of(problem, best_plan.candidate());
  ASSERT_GT(plan.bytes_of(0).host, 0u);
  problem.model.bytes = {};
  const PlanView view = view_of(problem, best_plan, plan);
  const auto said = std::ranges::find(
      view.facts, "activations", [](const auto& fact) -> const auto& { return fact.first; });
  ASSERT_NE(said, view.facts.end());
  EXPECT_TRUE(said->second.starts_with("2 micro-batches of each chunk stay on the device, up to "))
      << said->second;
  for (int k = 0; k < 2; ++k) {
    EXPECT_FALSE(view.replicas[0].step.copies[k].empty());
    for (const TimedAction& copy : view.replicas[0].step.copies[k]) EXPECT_GT(copy.end, copy.start);
    for (const MemoryPoint& point : view.replicas[0].memory[k])
      EXPECT_LE(point.bytes, view.stages[k].bytes() * (1 + 1e-12));
  }
}

TEST(BestPlanView, TellsCandidatesOfTheSameWordsApart) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = test::planned_sequence(sequence, 4, 1e5);
  problem.constraints.stages = 2;
  problem.constraints.replicas = 2;
  BestPlan best_plan = find_best_plan(problem);
  const CandidateResult first = best_plan.results.front();
  CandidateResult cut = first, devices = first, again = first;
  ++cut.candidate.begin[1];
  std::ranges::reverse(devices.candidate.devices);
  std::ranges::rotate(again.candidate.devices, again.candidate.devices.begin() + 1);
  best_plan.results = {first, cut, devices, again};
  const Plan plan = plan_of(problem, best_plan.candidate());
  std::vector<std::string> rows;
  for (const CandidateView& view : view_of(problem, best_plan, plan).candidates)
    rows.push_back(view.what);
  const std::string words = describe(first.candidate);
  const auto cut_at = [](const CandidateResult& of) {
    return std::to_string(of.candidate.begin[1]);
  };
  const auto stage_0_on = [&](const CandidateResult& of) {
    const auto& devices = of.candidate.devices[0];
    return ", stage 0 on " + problem.cluster.name_of(devices[0]) + " " +
           problem.cluster.name_of(devices[1]);
  };
  EXPECT_EQ(rows, (std::vector<std::string>{
                      words, words + ", cut at layer " + cut_at(cut) + ", not " + cut_at(first),
                      words + stage_0_on(devices), words + stage_0_on(again) + " (2)"}));
}

}  // namespace
}  // namespace penstock::partition
