#include "partition/planner/simulate/step_estimate.h"

#include <gtest/gtest.h>

#include "partition/planner/plan/plan_estimate.h"
#include "partition/schedule/make_schedule.h"
#include "tests/support/partition/small_sequence.h"

namespace penstock::partition {
namespace {

/// Costs that no rate explains: layer i takes i + 1 seconds forward for each frame, the input
/// gradient twice and the weight gradient three times as long.
std::vector<LayerCost> per_frame(const MicroBatchLengths& lengths) {
  double frames = 0;
  for (const std::int64_t length : lengths.frames) frames += static_cast<double>(length);
  std::vector<LayerCost> costs;
  for (int i = 0; i < 4; ++i) {
    const double one = frames * (i + 1);
    costs.push_back({"", one, 2 * one, 3 * one});
  }
  return costs;
}

StepCosts ragged_costs() {
  const std::vector<MicroBatchLengths> lengths{{{7, 1}}, {{3}}, {{5, 2, 4}}};
  return step_costs(test::small_sequence(), {}, per_frame, lengths);
}

constexpr double kFrames[] = {8, 3, 11};

TEST(StepEstimate, EqualsThePlanEstimateForEqualMicroBatches) {
  Plan plan{.schedule = "1f1b", .micro_batches = 5, .lanes = 1, .ranks = {{0}, {1}, {2}}};
  plan.chunks = {{.stage = 0, .first = 0, .layers = {"a"}},
                 {.stage = 1, .first = 1, .layers = {"b", "c"}},
                 {.stage = 2, .first = 3, .layers = {"d"}}};
  const std::vector<MicroBatchLengths> equal(5, {{7, 6}});
  const StepCosts costs = step_costs(test::small_sequence(), {}, per_frame, equal);
  const StepEstimate step(costs, {{0, 1, 3, 4}, make_schedule("1f1b", 3, 5)});
  const PlanEstimate estimate = estimate_plan(plan, costs.layers.front());
  EXPECT_DOUBLE_EQ(step.simulation().makespan, estimate.step_seconds);
  EXPECT_DOUBLE_EQ(step.period(), estimate.step_seconds);
}

TEST(StepEstimate, SumsRaggedMicroBatchesOnUnlikeDevices) {
  const StepEstimate step(ragged_costs(), {{0, 3, 4}, make_schedule("gpipe", 2, 3), {2, 4}});
  for (int m = 0; m < 3; ++m) {
    EXPECT_DOUBLE_EQ(step.times()[0][m].forward, kFrames[m] * (1 + 2 + 3) / 2);
    EXPECT_DOUBLE_EQ(step.times()[0][m].backward_weight, kFrames[m] * 3 * (1 + 2 + 3) / 2);
    EXPECT_DOUBLE_EQ(step.times()[1][m].backward_input, kFrames[m] * 2 * 4 / 4);
  }
  // Forwards of 3 and 1 a frame, backwards of 15 and 5: the first rank is never idle but while the
  // second does the last forward and the first backward, whose micro-batches have 11 and 8 frames.
  EXPECT_DOUBLE_EQ(step.simulation().makespan, 22 * 3 + 11 * 1 + 8 * 5 + 22 * 15);
}

TEST(StepEstimate, AddsRecomputationToTheGradientsOfInputs) {
  const std::vector<int> begin{0, 3, 4};
  const StepEstimate once(ragged_costs(), {begin, make_schedule("zb-h1", 2, 3)});
  StepLayout again{begin, make_schedule("zb-h1", 2, 3)};
  again.recomputed = {false, true, true, false};
  const StepEstimate twice(ragged_costs(), again);
  for (int m = 0; m < 3; ++m) {
    EXPECT_DOUBLE_EQ(twice.times()[0][m].backward_input,
                     once.times()[0][m].backward_input + kFrames[m] * (2 + 3));
    EXPECT_DOUBLE_EQ(twice.times()[0][m].forward, once.times()[0][m].forward);
    EXPECT_DOUBLE_EQ(twice.times()[1][m].total(), once.times()[1][m].total());
  }
  again.recomputed = {true};
  EXPECT_THROW(StepEstimate(ragged_costs(), again), std::invalid_argument);
}

TEST(StepEstimate, MessagesTakeTheirOwnBytesAndLinks) {
  const std::vector<MicroBatchLengths> one{{{7, 1}}};  // 4 + 1 frames after the convolution
  const StepCosts costs = step_costs(test::small_sequence(), {}, per_frame, one);
  const double bytes = layers::aligned(5 * 12 * 4) + layers::aligned(2 * 4);
  ASSERT_EQ(costs.bytes[0][1], bytes);
  StepLayout layout{{0, 2, 4}, make_schedule("1f1b", 2, 1)};
  layout.link = [](int from, int) {
    return from == 0 ? LinkRates{.latency = 10, .bandwidth = 2}
                     : LinkRates{.latency = 100, .bandwidth = 4};
  };
  const double computing = 8 * (1 + 2 + 3 + 4) * 6, messages = 10 + bytes / 2 + 100 + bytes / 4;
  EXPECT_DOUBLE_EQ(StepEstimate(costs, layout).period(), computing + messages);

  // A gradient has the bytes of what its own chunk was given.
  StepLayout three{{0, 1, 3, 4}, make_schedule("1f1b", 3, 1)};
  three.link = [](int from, int to) {
    return from < to ? LinkRates{.latency = 0, .bandwidth = 1e9}
                     : LinkRates{.latency = 0, .bandwidth = from == 1 ? 4.0 : 1e9};
  };
  const std::vector<MicroBatchLengths> longer{{{71, 13}}};
  const StepCosts unlike = step_costs(test::small_sequence(), {}, per_frame, longer);
  ASSERT_NE(unlike.bytes[0][0], unlike.bytes[0][2]);
  EXPECT_NEAR(StepEstimate(unlike, three).period(),
              84 * (1 + 2 + 3 + 4) * 6 + unlike.bytes[0][0] / 4, 1e-3);

  // Nothing is hidden by a second micro-batch: its sender waits for whatever is not overlapped.
  layout.overlap = 0.75;
  const StepEstimate held_up(costs, layout);
  EXPECT_DOUBLE_EQ(held_up.simulation().ranks[1].back().start, computing + messages);
}

TEST(StepEstimate, KnowsSeveralChunksOfARank) {
  StepLayout layout{{0, 1, 2, 3, 4}, make_schedule("zb-v", 2, 3)};  // ranks 0, 1, 1, 0
  const StepEstimate free(ragged_costs(), layout);
  EXPECT_DOUBLE_EQ(free.times()[3][2].backward_input, 11 * 2 * 4);
  double work = 0;  // of rank 0: its first and its last layer
  for (const double frames : kFrames) work += frames * (1 + 4) * 6;
  double busy = 0;
  const Simulation step = free.simulation();
  for (const TimedAction& timed : step.ranks[0]) busy += timed.end - timed.start;
  EXPECT_DOUBLE_EQ(busy, work);

  // Chunks 1 and 2 are on one rank: what passes between them takes no link.
  layout.link = [](int from, int to) {
    EXPECT_NE(from, to);
    return LinkRates{.latency = 1, .bandwidth = 1};
  };
  EXPECT_GT(StepEstimate(ragged_costs(), layout).period(), free.period());
}

TEST(StepEstimate, AddsReadingReducingAndStepping) {
  StepCosts costs = ragged_costs();
  costs.reading = {100, 200, 400};
  const StepLayout whole{.begin = {0, 4},
                         .schedule = make_schedule("gpipe", 1, 3),
                         .step_seconds = {1000},
                         .reduce_seconds = {5000}};
  EXPECT_DOUBLE_EQ(StepEstimate(costs, whole).period(), 22 * 10 * 6 + 700 + 5000 + 1000);

  // The first rank alone reads, before its forward passes.
  const StepEstimate reading(costs, {{0, 3, 4}, make_schedule("gpipe", 2, 3), {2, 4}});
  const StepEstimate silent(ragged_costs(), {{0, 3, 4}, make_schedule("gpipe", 2, 3), {2, 4}});
  for (int m = 0; m < 3; ++m) {
    EXPECT_DOUBLE_EQ(reading.times()[0][m].forward,
                     silent.times()[0][m].forward + costs.reading[m] / 2);
    EXPECT_DOUBLE_EQ(reading.times()[1][m].total(), silent.times()[1][m].total());
  }

  // Ranks step together, each as long as it takes.
  const StepLayout two{
      .begin = {0, 2, 4}, .schedule = make_schedule("gpipe", 2, 3), .step_seconds = {1, 7}};
  const Simulation step = StepEstimate(ragged_costs(), two).simulation();
  EXPECT_DOUBLE_EQ(step.ranks[0].back().end - step.ranks[0].back().start, 1);
  EXPECT_DOUBLE_EQ(step.ranks[1].back().end - step.ranks[1].back().start, 7);
  EXPECT_DOUBLE_EQ(step.ranks[1].back().start, step.ranks[0].back().start);
}

TEST(StepEstimate, RejectsWhatDoesNotFit) {
  const StepCosts costs = ragged_costs();
  const Schedule schedule = make_schedule("1f1b", 2, 3);
  const auto refused = [&](StepLayout layout) {
    EXPECT_THROW(StepEstimate(costs, std::move(layout)), std::invalid_argument);
  };
  refused({{0, 4}, schedule});
  refused({{0, 3, 2}, schedule});
  refused({{0, 2, 5}, schedule});
  refused({{0, 2, 4}, make_schedule("1f1b", 2, 4)});
  refused({{0, 2, 4}, schedule, {1}});
  StepCosts without = costs;
  without.bytes.clear();
  StepLayout linked{{0, 2, 4}, schedule};
  linked.link = [](int, int) { return LinkRates{0, 1}; };
  EXPECT_THROW(StepEstimate(without, linked), std::invalid_argument);
}

// Two chunks, of layers 0 and 1 to 2; three micro-batches, of which the second leaves most.
TEST(CopySeconds, FollowWhatLeavesTheChunk) {
  const StepCosts costs{.layers = {}, .bytes = {{6, 1, 3}, {8, 9, 4}, {2, 7, 0}}};
  const auto seconds = copy_seconds(costs, {0, 1, 3}, {.bytes = {40, 60}, .bandwidth = {10, 4}});
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_EQ(seconds[0], (std::vector<double>{3, 4, 1}));
  EXPECT_EQ(seconds[1], (std::vector<double>{11.25, 15, 0}));
}

TEST(CopySeconds, AreThoseOfTheLargestWhereNothingLeaves) {
  const StepCosts costs{.layers = {}, .bytes = {{0}, {0}}};
  const auto seconds = copy_seconds(costs, {0, 1}, {.bytes = {30}, .bandwidth = {4}});
  EXPECT_EQ(seconds, (std::vector<std::vector<double>>{{7.5, 7.5}}));
}

}  // namespace
}  // namespace penstock::partition
