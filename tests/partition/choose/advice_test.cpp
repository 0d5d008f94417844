#include "partition/choose/advice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/gib.h"
#include "partition/choose/stage_memory.h"
#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

constexpr AdviceTime kAmple{.seconds = 1e9};  // whatever the machine's pace

/// Of the change that begins so; 0: it was not asked.
double speed_with(const std::vector<Advice>& advice, const std::string& change) {
  for (const Advice& one : advice)
    if (one.change.starts_with(change)) return one.speed;
  return 0;
}

PlanningProblem of_two_stages(const LayerSequence& sequence, double memory) {
  PlanningProblem problem = test::planned_sequence(sequence, 2, memory);
  problem.stages = 2;
  problem.replicas = 1;
  problem.schedules = {"1f1b"};
  return problem;
}

/// As if the fastest choice lacked so much of each device's memory.
Decision lacking(const PlanningProblem& problem, double bytes) {
  Decision decision = decide(problem);
  decision.alternatives.push_back({.choice = decision.choice,
                                   .closed_form = decision.estimate.step_seconds / 2,
                                   .audio_seconds = decision.estimate.audio_seconds,
                                   .lacks = LackingMemory{0, bytes}});
  return decision;
}

bool asks_for_memory(const PlanningProblem& problem, const Decision& decision) {
  return std::ranges::any_of(advise(problem, decision, kAmple), [](const Advice& one) {
    return one.change.find("GiB more") != std::string::npos;
  });
}

TEST(Advice, IsPlannedAgainWithOneChange) {
  const LayerSequence sequence = test::small_sequence();
  const PlanningProblem problem = of_two_stages(sequence, 1e5);
  const Decision decision = decide(problem);
  const auto advice = advise(problem, decision, kAmple);
  ASSERT_EQ(advice.size(), 2u);
  EXPECT_GE(advice[0].speed, advice[1].speed);

  PlanningProblem links = problem;
  links.cluster.node_links = {{.latency = 0.5, .bandwidth = 1000}};
  const Workload& same = decision.workload;
  EXPECT_DOUBLE_EQ(speed_with(advice, "with links twice as fast"),
                   estimate_choice(links, same, decision.choice).speed());
  EXPECT_GT(speed_with(advice, "with links twice as fast"), decision.estimate.speed());

  PlanningProblem more = problem;
  more.batches = {{.seconds = 4, .micro_batches = 8}};
  EXPECT_DOUBLE_EQ(speed_with(advice, "with 8 micro-batches a step"),
                   decide(more).estimate.speed());
}

TEST(Advice, AsksForMemoryThatFasterPlansLack) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = test::planned_sequence(sequence, 2, 1e5);
  problem.cluster.node_links = {{.latency = 50, .bandwidth = 5}};  // one stage a device is best
  const Decision roomy = decide(problem);
  ASSERT_EQ(roomy.choice.stages, 1);
  const double all = StageMemory(problem, roomy.choice).of_stages(roomy.choice.begin)[0];
  for (Device& device : problem.cluster.devices) device.memory = all - 1;
  const Decision tight = decide(problem);
  ASSERT_LT(tight.estimate.speed(), roomy.estimate.speed());
  const auto advice = advise(problem, tight, kAmple);
  EXPECT_NEAR(speed_with(advice, "with 0.1 GiB more on every device"), roomy.estimate.speed(),
              1e-9);
}

TEST(Advice, AddsMemoryOfWhichPlansUseAShare) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = of_two_stages(sequence, 1e6);
  problem.cluster.margin = 0.375;
  const Decision decision = lacking(problem, 2.5 * kGib);
  // It changes nothing but what is left free.
  EXPECT_NEAR(speed_with(advise(problem, decision, kAmple), "with 4 GiB more on every device"),
              decision.estimate.speed(), 1e-9);
}

TEST(Advice, AsksForNoMemoryWithoutLimitOrChoice) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = of_two_stages(sequence, 1e6);
  const Decision decision = lacking(problem, kGib);
  ASSERT_TRUE(asks_for_memory(problem, decision));
  problem.recomputed = ChosenLayers();
  EXPECT_FALSE(asks_for_memory(problem, decision));
  problem.recomputed.reset();
  for (const double memory : {(1 << 20) * kGib, std::numeric_limits<double>::infinity()}) {
    for (Device& device : problem.cluster.devices) device.memory = memory;
    EXPECT_FALSE(asks_for_memory(problem, decision));
  }
  problem.cluster.devices.back().memory = 1e6;
  EXPECT_TRUE(asks_for_memory(problem, decision));
}

// What lists gain is not put down to the change, nor taken from it.
TEST(Advice, ComparesNamedSchedulesWhereListsWereFound) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = of_two_stages(sequence, 1e5);
  const Decision named = decide(problem);
  PlanningProblem more = problem;
  more.batches = {{.seconds = 4, .micro_batches = 8}};
  const double gain = decide(more).estimate.speed() / named.estimate.speed();
  problem.finds = true;
  const Decision found = decide(problem);
  ASSERT_EQ(found.choice.schedule, "found");
  ASSERT_GT(found.estimate.speed(), named.estimate.speed());
  EXPECT_NEAR(speed_with(advise(problem, found, kAmple), "with 8 micro-batches"),
              gain * found.estimate.speed(), 1e-9);
}

// Many slots are planned over one step: the plan's speed is of all of them.
TEST(Advice, ComparesQuickPlansWithEachOther) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = test::planned_sequence(sequence, 18, 1e5);
  problem.stages = 2;
  problem.replicas = 9;
  problem.schedules = {"1f1b"};
  problem.batches = {{.seconds = 4, .micro_batches = 18}};
  const Decision decision = decide(problem);
  PlanningProblem quick = problem;
  quick.is_quick = true;
  const double one_step = decide(quick).estimate.speed();
  ASSERT_GT(std::abs(one_step / decision.estimate.speed() - 1), 0.01);
  quick.batches.front().micro_batches = 36;
  const double gain = decide(quick).estimate.speed() / one_step;
  EXPECT_NEAR(speed_with(advise(problem, decision, kAmple), "with 36 micro-batches"),
              gain * decision.estimate.speed(), 1e-9);
}

TEST(Advice, PlansNothingOnceTheProblemsTimeIsOver) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = of_two_stages(sequence, 1e5);
  double now = 0;
  const TimeLimit limit(10, [&] { return now; });
  problem.time = &limit;
  const Decision decision = decide(problem);
  EXPECT_GT(speed_with(advise(problem, decision, kAmple), "with 8 micro-batches"), 0);
  problem.sample = [&, sample = problem.sample](const BatchChoice& batch, int replicas) {
    if (batch.micro_batches == 8) now = 10;  // while the question is planned
    return sample(batch, replicas);
  };
  EXPECT_EQ(advise(problem, decision, kAmple).size(), 1u);
  EXPECT_EQ(now, 10);
  problem.sample = [](const BatchChoice&, int) -> std::vector<SampledStep> {
    ADD_FAILURE() << "planned again";
    return {};
  };
  EXPECT_EQ(advise(problem, decision, kAmple).size(), 1u);
  EXPECT_FALSE(limit.ended_a_search());  // the plan's
}

TEST(Advice, PlansNothingThatItHasNoTimeFor) {
  const LayerSequence sequence = test::small_sequence();
  const PlanningProblem problem = of_two_stages(sequence, 1e5);
  const auto advice = advise(problem, decide(problem), {.seconds = 3, .plan_took = 4});
  ASSERT_EQ(advice.size(), 1u);  // what is only simulated
  EXPECT_EQ(advice[0].change, "with links twice as fast");
}

TEST(Advice, KeepsOrdersAndLeavesOutImpossibleSteps) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = of_two_stages(sequence, 1e5);
  const Decision decision = decide(problem);
  problem.keeps_order = true;
  EXPECT_EQ(speed_with(advise(problem, decision, kAmple), "with 8"), 0);
  problem.keeps_order = false;
  problem.sample = [sample = problem.sample](const BatchChoice& batch, int replicas) {
    if (batch.micro_batches > 4) throw ConfigError("an epoch has less");
    return sample(batch, replicas);
  };
  EXPECT_EQ(advise(problem, decision, kAmple).size(), 1u);
}

TEST(Advice, IsASentence) {
  EXPECT_EQ(sentence_of({"with links twice as fast", 2310}, 2200),
            "With links twice as fast: 2,310 s of audio a second, 5 % more.");
  for (const double same : {2190, 2210})
    EXPECT_EQ(sentence_of({"with links twice as fast", same}, 2200),
              "With links twice as fast: no faster.");
  EXPECT_EQ(sentence_of({"with 8 micro-batches a step", 1760}, 2200),
            "With 8 micro-batches a step: 1,760 s of audio a second, 20 % less.");
}

}  // namespace
}  // namespace penstock::partition
