#include "partition/simulate.h"

#include <gtest/gtest.h>

#include "partition/schedules/make_schedule.h"

namespace penstock {
namespace {

double makespan(int stages, int micro_batches) {
  const std::vector<ChunkTimes> equal(stages, {1, 1, 1});
  return simulate(make_schedule("1f1b", stages, micro_batches), equal_micro_batches(equal))
      .makespan;
}

TEST(Simulate, AgreesWithPublishedMakespans) {
  EXPECT_DOUBLE_EQ(makespan(4, 8), 33);
  EXPECT_DOUBLE_EQ(makespan(4, 16), 57);
  EXPECT_DOUBLE_EQ(makespan(8, 32), 117);
}

TEST(Simulate, GPipeTakesFillAndDrain) {
  const std::vector<ChunkTimes> equal(3, {1, 2, 0.5});
  const auto gpipe = simulate(make_schedule("gpipe", 3, 5), equal_micro_batches(equal));
  EXPECT_DOUBLE_EQ(gpipe.makespan, (3 - 1 + 5) * 3.5);
}

TEST(Simulate, MessagesTakeTimeAndStepsWaitForAll) {
  // One micro-batch: F0, message, F1, B1, message, B0, step.
  const Durations durations{
      .compute = [](const Action& a) { return a.kind == ActionKind::reduce ? 0.0 : 1.0 + a.chunk; },
      .transfer = [](const Edge& edge, int) { return edge.producer == 0 ? 10.0 : 100.0; }};
  const auto run = simulate(make_schedule("1f1b", 2, 1), durations);
  EXPECT_DOUBLE_EQ(run.makespan, 1 + 10 + 2 + 2 + 100 + 1 + 1);
  EXPECT_EQ(run.ranks[1].back().action.kind, ActionKind::step);
  EXPECT_DOUBLE_EQ(run.ranks[1].back().start, run.ranks[0].back().start);
}

TEST(SpeedupBound, IsWhatCutAndBubbleLeave) {
  // Two equal stages, 8 micro-batches: 8/9 of 2. Then a stage with twice the work of the other.
  EXPECT_DOUBLE_EQ(speedup_bound(make_schedule("1f1b", 2, 8), {{1, 1, 1}, {1, 1, 1}}), 16.0 / 9);
  EXPECT_DOUBLE_EQ(speedup_bound(make_schedule("1f1b", 1, 8), {{1, 1, 1}}), 1);
  EXPECT_DOUBLE_EQ(speedup_bound(make_schedule("gpipe", 2, 4), {{2, 2, 2}, {1, 1, 1}}),
                   4 * 9.0 / (4 * 6 + 3));
}

}  // namespace
}  // namespace penstock
