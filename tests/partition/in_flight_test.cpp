#include "partition/in_flight.h"

#include <gtest/gtest.h>

#include "partition/schedules/forward_only.h"
#include "partition/schedules/make_schedule.h"

namespace penstock {
namespace {

TEST(InFlight, OneForwardOneBackwardHoldsOneSlotForEachLaterStage) {
  const Schedule schedule = make_schedule("1f1b", 4, 9);
  for (int stage = 0; stage < 4; ++stage) {
    const InFlight in_flight = count_in_flight(schedule, stage);
    EXPECT_EQ(in_flight.slots, 4 - stage) << stage;
    EXPECT_GE(in_flight.inputs, in_flight.slots) << stage;
    EXPECT_LE(in_flight.inputs, in_flight.slots + 1) << stage;
    EXPECT_EQ(in_flight.output_gradients > 0, stage < 3) << stage;
  }
}

TEST(InFlight, GPipeHoldsEveryMicroBatch) {
  for (int stage = 0; stage < 3; ++stage)
    EXPECT_EQ(count_in_flight(make_schedule("gpipe", 3, 5), stage).slots, 5);
}

TEST(InFlight, ForwardOnlyKeepsNothing) {
  const Schedule schedule = forward_only({0, 1, 2}, 7);
  for (int stage = 0; stage < 3; ++stage) {
    EXPECT_EQ(count_in_flight(schedule, stage).slots, 1);
    EXPECT_EQ(count_in_flight(schedule, stage).output_gradients, 0);
  }
}

}  // namespace
}  // namespace penstock
