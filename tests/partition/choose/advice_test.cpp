#include "partition/choose/advice.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "partition/choose/stage_memory.h"
#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

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

TEST(Advice, IsPlannedAgainWithOneChange) {
  const LayerSequence sequence = test::small_sequence();
  const PlanningProblem problem = of_two_stages(sequence, 1e5);
  const Decision decision = decide(problem);
  const auto advice = advise(problem, decision);
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
  const auto advice = advise(problem, tight);
  EXPECT_NEAR(speed_with(advice, "with 0.1 GiB more on every device"), roomy.estimate.speed(),
              1e-9);
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
  EXPECT_EQ(speed_with(advise(problem, decision), "with 8"), 0);
  problem.keeps_order = false;
  problem.sample = [sample = problem.sample](const BatchChoice& batch, int replicas) {
    if (batch.micro_batches > 4) throw ConfigError("an epoch has less");
    return sample(batch, replicas);
  };
  EXPECT_EQ(advise(problem, decision).size(), 1u);
}

TEST(Advice, IsASentence) {
  EXPECT_EQ(sentence_of({"with links twice as fast", 2310}, 2200),
            "With links twice as fast: 2,310 s of audio a second, 5 % more.");
  EXPECT_EQ(sentence_of({"with links twice as fast", 2210}, 2200),
            "With links twice as fast: no faster.");
}

}  // namespace
}  // namespace penstock::partition
