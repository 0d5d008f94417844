#include <gtest/gtest.h>

#include <random>

#include "partition/planner/choose/explain.h"
#include "partition/planner/choose/find_best_plan.h"
#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

void expect_same(const BestPlan& one, const BestPlan& other) {
  EXPECT_EQ(one.lower_bound, other.lower_bound);
  ASSERT_EQ(one.results.size(), other.results.size());
  for (std::size_t i = 0; i < one.results.size(); ++i) {
    const CandidateResult &a = one.results[i], &b = other.results[i];
    EXPECT_EQ(describe(a.candidate), describe(b.candidate)) << i;
    EXPECT_EQ(a.candidate.begin, b.candidate.begin) << i;
    EXPECT_EQ(a.candidate.devices, b.candidate.devices) << i;
    EXPECT_EQ(a.candidate.actions, b.candidate.actions) << i;
    EXPECT_EQ(a.candidate.recomputed, b.candidate.recomputed) << i;
    EXPECT_EQ(a.candidate.resident, b.candidate.resident) << i;
    EXPECT_EQ(a.why, b.why) << i;
    EXPECT_EQ(a.closed_form, b.closed_form) << i;
    EXPECT_EQ(a.other_barrier_s, b.other_barrier_s) << i;
    ASSERT_EQ(a.estimate.has_value(), b.estimate.has_value()) << i;
    if (a.estimate) {
      EXPECT_EQ(a.estimate->step_seconds, b.estimate->step_seconds) << i;
    }
  }
}

/// Returns so many candidates that threads meet. Some fit only with recomputation or offload.
PlanningProblem many_candidates(const LayerSequence& sequence, unsigned seed, int devices) {
  std::mt19937 random(seed);
  const auto number = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  PlanningProblem problem = test::planned_sequence(sequence, devices, number(7000, 16000));
  for (Device& device : problem.cluster.devices) device.speed = number(0, 1) < 0.5 ? 1 : 2;
  problem.constraints.batches = {{4, 6}, {3, 8}, {2, 12}};
  problem.constraints.schedules = {"1f1b", "gpipe", "zb-h1", "zb-h2"};
  problem.constraints.resident.reset();
  problem.constraints.shards_optimizer.reset();
  problem.search.finds = true;
  problem.search.find_effort = 20'000;
  return problem;
}

TEST(FindBestPlanThreads, ChooseTheSame) {
  const LayerSequence sequence = test::small_sequence();
  std::size_t compared = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    PlanningProblem problem = many_candidates(sequence, seed, seed % 2 ? 5 : 14);
    const BestPlan alone = find_best_plan(problem);
    for (const int threads : {2, 5}) {
      problem.search.threads = threads;
      expect_same(alone, find_best_plan(problem));
    }
    compared += alone.results.size();
  }
  EXPECT_GT(compared, 300u);
}

TEST(FindBestPlanThreads, FindTheSameSensitivity) {
  const LayerSequence sequence = test::small_sequence();
  PlanningProblem problem = many_candidates(sequence, 3, 5);
  problem.cluster.devices.resize(4);
  for (Device& device : problem.cluster.devices) device.memory = 1e9;
  const BestPlan best_plan = find_best_plan(problem);
  std::vector<Assumption> assumptions;
  for (const double factor : {0.01, 0.8, 1.0, 1.2, 30.0, 300.0})
    assumptions.push_back({.what = "messages", .message_factor = factor});
  const Sensitivity alone = sensitivity_of(problem, best_plan, assumptions);
  problem.search.threads = 3;
  const Sensitivity threaded = sensitivity_of(problem, best_plan, assumptions);
  EXPECT_EQ(threaded.assumptions, alone.assumptions);
  ASSERT_EQ(threaded.others.size(), alone.others.size());
  EXPECT_GT(alone.others.size(), 0u);
  for (std::size_t i = 0; i < alone.others.size(); ++i) {
    EXPECT_EQ(threaded.others[i].gain, alone.others[i].gain);
    EXPECT_EQ(describe(threaded.others[i].candidate), describe(alone.others[i].candidate));
  }
}

}  // namespace
}  // namespace penstock::partition
