#include "partition/planner/report/sequence_view.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "partition/planner/choose/candidate_estimate.h"

namespace penstock::partition {
namespace {

class SequenceViewOf : public testing::Test {
 protected:
  SequenceViewOf() {
    for (const double forward : {1e3, 2e3, 3e3})
      profile_.layers.push_back({"layer", forward, 2 * forward, 40, 10, 0});
    problem_.cluster = equal_devices(4);
    problem_.cluster.node_links = {{.latency = 0, .bandwidth = 1e9}};
  }

  SequenceProfile profile_{.name = "chain", .layers = {}};
  PlacementProblem problem_{.sequence = SequenceLoad({}, SequenceLoad::Crossing::bytes),
                            .cluster = {},
                            .micro_batches = 5};
};

TEST_F(SequenceViewOf, ShowsTheStepAsSimulated) {
  problem_.sequence = SequenceLoad(profile_, SequenceLoad::Crossing::bytes);
  const PlacedSequence placed = place_sequence(problem_, {.stages = 2, .replicas = 2});
  const SequencePlan plan{problem_, placed, profile_};
  const std::vector<SequenceStep> steps{
      {.schedule = "1f1b", .in_flight = {2, 1}, .seconds = 36},
      {.schedule = "zb-h1", .in_flight = {2, 2}, .seconds = 37.8},
      {.schedule = "gpipe", .in_flight = {3, 3}, .fits = false, .seconds = 36}};
  const PlanView view = view_of(plan, steps, other_grids(plan, steps, {}, 3));
  ASSERT_EQ(view.stages.size(), 2u);
  ASSERT_EQ(view.replicas.size(), 2u);
  // The first replica runs 3 of the 5: both stages have work of 9 seconds.
  EXPECT_NEAR(view.step_seconds, 3 * 9 + 9, 1e-6);
  EXPECT_NEAR(view.stages[0].idle, 0.25, 1e-6);
  EXPECT_EQ(view.stages[0].layers.front(), "layer to layer (2)");
  EXPECT_TRUE(std::isinf(view.stages[0].limit));
  for (int k = 0; k < 2; ++k) {
    EXPECT_DOUBLE_EQ(view.stages[k].bytes(),
                     problem_.sequence.bytes(2 * k, 2 + k, in_flight(problem_, placed.grid, k)));
    double max = 0;
    for (const MemoryPoint& point : view.replicas[0].memory[k]) max = std::max(max, point.bytes);
    EXPECT_DOUBLE_EQ(max, view.stages[k].bytes());
  }
  EXPECT_FALSE(view.traffic.empty());
  EXPECT_TRUE(std::ranges::count(view.facts,
                                 std::pair<std::string, std::string>(
                                     "schedule", "1f1b; zb-h1 5.0 % slower, gpipe lacks memory")));
  ASSERT_EQ(view.candidates.size(), 4u);
  EXPECT_EQ(view.candidates[0].why, "");
  for (std::size_t i = 1; i < 4; ++i) EXPECT_NE(view.candidates[i].why, "");
}

TEST_F(SequenceViewOf, TakesTheClosedFormOfALongStep) {
  problem_.sequence = SequenceLoad(profile_, SequenceLoad::Crossing::bytes);
  for (const int micro_batches : {125'000, 125'001}) {  // two passes each on two stages
    problem_.micro_batches = micro_batches;
    const PlacedSequence placed = place_sequence(problem_, {.stages = 2, .replicas = 1});
    const SequencePlan plan{problem_, placed, profile_};
    const std::vector<SequenceStep> steps{{.schedule = "1f1b", .in_flight = {2, 1}}};
    const PlanView quick = view_of(plan, steps, {}, LongStep::closed_form);
    const PlanView whole = view_of(plan, steps);
    EXPECT_EQ(quick.replicas.size(), micro_batches == 125'000 ? 1u : 0u);
    ASSERT_EQ(whole.replicas.size(), 1u);
    EXPECT_NEAR(quick.step_seconds, whole.step_seconds, 1e-6 * whole.step_seconds);
    EXPECT_NEAR(quick.stages[0].idle, whole.stages[0].idle, 1e-6);
    ASSERT_EQ(quick.traffic.size(), whole.traffic.size());
    EXPECT_GT(whole.traffic.size(), 0u);
  }
}

TEST_F(SequenceViewOf, ShowsWhatIsRecomputed) {
  problem_.sequence =
      SequenceLoad(profile_, SequenceLoad::Crossing::bytes, SequenceLoad::Recompute::stage);
  const PlacedSequence placed = place_sequence(problem_, {.stages = 2, .replicas = 1});
  const SequencePlan plan{problem_, placed, profile_};
  const PlanView view = view_of(plan, sequence_steps(plan));
  for (int k = 0; k < 2; ++k) {
    EXPECT_EQ(view.stages[k].recomputed, view.stages[k].layers);
    double max = 0;
    for (const MemoryPoint& point : view.replicas[0].memory[k]) max = std::max(max, point.bytes);
    EXPECT_DOUBLE_EQ(max, view.stages[k].bytes());
  }
  EXPECT_NEAR(view.stages[0].seconds, 5 * (4.0 + 8), 1e-6);  // forward twice, backward
}

TEST_F(SequenceViewOf, ComparesOtherGridsBySimulatedSteps) {
  problem_.sequence = SequenceLoad(profile_, SequenceLoad::Crossing::bytes);
  const auto candidates = sequence_candidates(problem_, profile_, {}, {});
  const PlacedSequence& placed = choose_sequence(problem_, profile_, candidates);
  const SequencePlan plan{problem_, placed, profile_};
  const auto steps = sequence_steps(plan);
  const auto others = other_grids(plan, steps, {}, 100);
  EXPECT_EQ(others.size(), 6u);  // 4 + 2 + 1, less the plan's
  EXPECT_TRUE(std::ranges::is_sorted(others, {}, &CandidateView::step_seconds));
  for (const CandidateView& other : others) {
    int stages = 0, replicas = 0;
    ASSERT_EQ(std::sscanf(other.what.c_str(), "%d stage%*[s ]× %d", &stages, &replicas), 2)
        << other.what;
    const PlacedSequence own = place_sequence(problem_, {.stages = stages, .replicas = replicas});
    const double step = sequence_steps({problem_, own, profile_}).front().seconds;
    EXPECT_GE(step, other.step_seconds * (1 - 1e-9)) << other.what;
    EXPECT_GE(other.step_seconds, steps.front().seconds * (1 - kSameStep)) << other.what;
  }
}

TEST_F(SequenceViewOf, ComparesTheBottleneckByLoads) {
  problem_.sequence = SequenceLoad(profile_, SequenceLoad::Crossing::bytes);
  problem_.objective = Objective::bottleneck;
  const PlacedSequence placed = place_sequence(problem_, {});
  const SequencePlan plan{problem_, placed, profile_};
  const auto steps = sequence_steps(plan);
  EXPECT_EQ(compared_seconds(plan, steps), placed.cut.slowest);
  for (const CandidateView& other : other_grids(plan, steps, {}, 100))
    EXPECT_GE(other.step_seconds, placed.cut.slowest * (1 - 1e-9)) << other.what;
}

}  // namespace
}  // namespace penstock::partition
