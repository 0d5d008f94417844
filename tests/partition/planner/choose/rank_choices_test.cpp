#include "partition/planner/choose/rank_choices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "partition/planner/choose/decide.h"
#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

class RankChoices : public testing::Test {
 protected:
  /// Three devices, each pair with a link of its own, one way as the other.
  PlanningProblem problem(double memory) const {
    PlanningProblem problem = test::planned_sequence(sequence_, 3, memory);
    for (const double rate : {1.0, 500.0, 90.0, 500.0, 1.0, 200.0, 90.0, 200.0, 1.0})
      problem.cluster.exact_links.push_back({.latency = 1, .bandwidth = rate});
    return problem;
  }
  static PlanChoice three_stages(const PlanningProblem& problem) {
    return {.stages = 3, .batch = problem.batches.front()};
  }

  LayerSequence sequence_ = test::small_sequence();
};

TEST_F(RankChoices, OrdersEveryPlacementByItsSimulatedStep) {
  const PlanningProblem problem = this->problem(1e9);
  const auto ranked = rank_choices(problem, three_stages(problem), 100);
  std::set<std::vector<std::vector<int>>> distinct;
  for (const RankedChoice& r : ranked) {
    distinct.insert(r.choice.devices);
    EXPECT_EQ(r.choice.begin.size(), 4u);
    Workloads workloads(problem);
    EXPECT_EQ(r.estimate.step_seconds,
              estimate_choice(problem, workloads.of(r.choice.batch, 1), r.choice).step_seconds);
  }
  EXPECT_EQ(distinct.size(), 6u);
  EXPECT_TRUE(
      std::ranges::is_sorted(ranked, {}, [](const auto& r) { return r.estimate.step_seconds; }));
  // The stage in the middle is on the device whose links are fast.
  EXPECT_EQ(ranked.front().choice.devices[1], std::vector<int>{1});
}

TEST_F(RankChoices, FirstIsNoWorseThanTheDecision) {
  PlanningProblem problem = this->problem(1e9);
  problem.schedules = {"1f1b"};
  problem.stages = 3;
  problem.replicas = 1;
  const Decision decision = decide(problem);
  const auto ranked = rank_choices(problem, decision.choice, 1);
  ASSERT_EQ(ranked.size(), 1u);
  EXPECT_LE(ranked.front().estimate.step_seconds, decision.estimate.step_seconds);
}

TEST_F(RankChoices, HasNothingWhereNothingFits) {
  const PlanningProblem problem = this->problem(100);
  EXPECT_TRUE(rank_choices(problem, three_stages(problem), 5).empty());
}

}  // namespace
}  // namespace penstock::partition
