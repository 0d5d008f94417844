#include "partition/planner/simulate/joint_step.h"

#include <gtest/gtest.h>

#include <memory>

#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

/// Two stages of a layer each, whose passes take a second; messages of so many bytes over links of
/// a byte a second.
std::unique_ptr<StepEstimate> pipeline(int micro_batches, double bytes,
                                       const char* schedule = "gpipe") {
  StepCosts costs;
  costs.layers.assign(micro_batches, {{"a", 1, 1, 1}, {"b", 1, 1, 1}});
  costs.bytes.assign(micro_batches, {bytes, 0});
  StepLayout layout{.begin = {0, 1, 2}, .schedule = make_schedule(schedule, 2, micro_batches)};
  layout.link = [](int, int) { return LinkRates{.latency = 0, .bandwidth = 1}; };
  layout.step_seconds = {0.5, 0.25};
  return std::make_unique<StepEstimate>(costs, std::move(layout));
}

/// One link each way that messages of all replicas pass.
SharedLinks both_ways(double bandwidth) {
  return {.bandwidths = {bandwidth, bandwidth},
          .route = [](int, int from, int) { return std::vector<int>{from}; }};
}

TEST(JointStep, OfWideSharedLinksIsTheSlowestReplicas) {
  for (const char* schedule : {"gpipe", "1f1b", "zb-h1"}) {
    const auto one = pipeline(3, 2, schedule), other = pipeline(5, 1.5, schedule);
    for (const Barrier barrier : {Barrier::before_step, Barrier::none})
      EXPECT_DOUBLE_EQ(joint_period({one.get(), other.get()}, both_ways(1e9), barrier),
                       std::max(one->period(barrier), other->period(barrier)))
          << schedule;
  }
}

TEST(JointStep, MessagesThatMeetShareALink) {
  const auto one = pipeline(1, 4), other = pipeline(1, 4);
  // Forward, 4 bytes, forward and backward, 4 bytes back, backward, step.
  EXPECT_DOUBLE_EQ(one->period(), 1 + 4 + 3 + 4 + 2 + 0.5);
  const std::vector<const StepEstimate*> both{one.get(), other.get()};
  EXPECT_DOUBLE_EQ(joint_period(both, both_ways(1), Barrier::before_step), 1 + 8 + 3 + 8 + 2 + 0.5);
  EXPECT_DOUBLE_EQ(joint_period(both, both_ways(1.6), Barrier::before_step),
                   1 + 5 + 3 + 5 + 2 + 0.5);
  EXPECT_DOUBLE_EQ(joint_period({one.get()}, both_ways(1), Barrier::before_step), one->period());
}

TEST(JointStep, TakesSharedLinksOfTheReplicaThatSends) {
  const auto one = pipeline(1, 4), other = pipeline(1, 4);
  SharedLinks shared{.bandwidths = {0.5, 9}, .route = [](int replica, int, int to) {
                       return to == 0 ? std::vector<int>() : std::vector<int>{replica};
                     }};
  EXPECT_DOUBLE_EQ(joint_period({one.get(), other.get()}, shared, Barrier::before_step),
                   1 + 8 + 3 + 4 + 2 + 0.5);
}

}  // namespace
}  // namespace penstock::partition
