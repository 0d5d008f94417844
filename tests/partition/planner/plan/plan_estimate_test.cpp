#include "partition/planner/plan/plan_estimate.h"

#include <gtest/gtest.h>

#include "partition/planner/simulate/chunk_times.h"

namespace penstock::partition {
namespace {

TEST(PlanEstimate, FollowsFromTheCutAndTheBubble) {
  Plan plan{.schedule = "gpipe", .micro_batches = 6, .lanes = 2, .ranks = {{0, 1}, {2, 3}}};
  plan.chunks = {{.stage = 0, .first = 0, .layers = {"a"}},
                 {.stage = 1, .first = 1, .layers = {"b", "c"}}};
  const std::vector<LayerCost> costs{{"a", 2, 1, 0}, {"b", 1, 1, 1}, {"c", 3, 0, 0}};
  const auto times = chunk_times({0, 1, 3}, costs);
  EXPECT_EQ(times[0].forward, 2);
  EXPECT_EQ(times[1].forward, 4);
  EXPECT_EQ(times[1].total(), 6);

  // Each replica runs 3: the second stage waits 2 seconds for the first forward, works 18 without
  // a gap and leaves a last backward of 1 to the first.
  const PlanEstimate estimate = estimate_plan(plan, costs);
  EXPECT_DOUBLE_EQ(estimate.micro_batch_seconds, 9);
  EXPECT_DOUBLE_EQ(estimate.step_seconds, 2 + 3 * 6 + 1);
  EXPECT_DOUBLE_EQ(estimate.bound, 27.0 / 21);
  EXPECT_DOUBLE_EQ(estimate.idle[0], 12.0 / 21);
  EXPECT_DOUBLE_EQ(estimate.idle[1], 3.0 / 21);
}

}  // namespace
}  // namespace penstock::partition
