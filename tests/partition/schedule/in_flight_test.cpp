#include "partition/schedule/in_flight.h"

#include <gtest/gtest.h>

#include "partition/schedule/generators.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

TEST(InFlight, OneForwardOneBackwardHoldsFewerSlotsLater) {
  const Schedule schedule = make_schedule("1f1b", 4, 9);
  for (int stage = 0; stage < 4; ++stage) {
    const InFlight in_flight = count_in_flight(schedule, stage);
    EXPECT_EQ(in_flight.slots, 4 - stage) << stage;
    EXPECT_EQ(in_flight.recomputed, 1) << stage;
    EXPECT_GE(in_flight.inputs, in_flight.slots) << stage;
    EXPECT_LE(in_flight.inputs, in_flight.slots + 1) << stage;
    EXPECT_EQ(in_flight.output_gradients > 0, stage < 3) << stage;
  }
}

TEST(InFlight, GPipeHoldsEveryMicroBatch) {
  for (int stage = 0; stage < 3; ++stage)
    EXPECT_EQ(count_in_flight(make_schedule("gpipe", 3, 5), stage).slots, 5);
}

TEST(InFlight, SplitBackwardHoldsSlotsUntilTheWeightGradient) {
  for (int stage = 0; stage < 4; ++stage) {
    const InFlight in_flight = count_in_flight(make_schedule("zb-h1", 4, 9), stage);
    EXPECT_EQ(in_flight.slots, 4) << stage;
    EXPECT_EQ(in_flight.recomputed, stage + 1) << stage;
    EXPECT_EQ(in_flight.output_gradients > stage, stage < 3) << stage;
    EXPECT_EQ(in_flight.input_gradients, stage == 0 ? 0 : 2);
    EXPECT_EQ(count_in_flight(make_schedule("zb-h2", 4, 9), stage).slots, 7) << stage;
  }
}

// Chunks 0 and 1 on rank 0, chunk 2 on rank 1.
TEST(InFlight, CountsWhatIsMovedWithinARank) {
  Schedule schedule{.name = "by hand", .micro_batches = 2, .chunk_rank = {0, 0, 1}};
  const auto list = [&](std::vector<Action> actions) { schedule.ranks.push_back(actions); };
  using enum ActionKind;
  list({{forward, 0, 0},
        {forward, 0, 1},
        {forward, 1, 0},
        {send_activation, 1, 0},
        {forward, 1, 1},
        {send_activation, 1, 1},
        {receive_gradient, 1, 0},
        {backward_input, 1, 0},
        {receive_gradient, 1, 1},
        {backward_input, 1, 1},
        {backward_weight, 1, 0},
        {backward_weight, 1, 1},
        {backward, 0, 0},
        {backward, 0, 1}});
  list({});
  const InFlight first = count_in_flight(schedule, 0), second = count_in_flight(schedule, 1);
  EXPECT_EQ(first.slots, 2);
  EXPECT_EQ(first.inputs, 2);
  EXPECT_EQ(first.output_gradients, 2);  // written by backward_input of chunk 1
  EXPECT_EQ(first.input_gradients, 0);
  EXPECT_EQ(second.inputs, 2);
  EXPECT_EQ(second.output_gradients, 2);
  EXPECT_EQ(second.input_gradients, 1);  // moved at once

  const Schedule evaluation = forward_only({0, 0, 1}, 5);
  for (int chunk = 0; chunk < 3; ++chunk) {
    const InFlight evaluated = count_in_flight(evaluation, chunk);
    EXPECT_EQ(evaluated.slots, 1);
    EXPECT_EQ(evaluated.inputs, chunk == 2 ? 2 : 1);
    EXPECT_EQ(evaluated.output_gradients + evaluated.input_gradients, 0);
  }
}

TEST(InFlight, ForwardOnlyKeepsNothing) {
  const Schedule schedule = forward_only({0, 1, 2}, 7);
  for (int stage = 0; stage < 3; ++stage) {
    EXPECT_EQ(count_in_flight(schedule, stage).slots, 1);
    EXPECT_EQ(count_in_flight(schedule, stage).output_gradients, 0);
  }
}

}  // namespace
}  // namespace penstock::partition
