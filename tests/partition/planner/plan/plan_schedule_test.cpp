#include "partition/planner/plan/plan_schedule.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "configs/config.h"
#include "partition/schedule/make_schedule.h"
#include "tests/support/partition/found_lists.h"

namespace penstock::partition {
namespace {

TEST(PlanSchedule, IsThatOfThePlansName) {
  const Plan plan{.schedule = "gpipe", .micro_batches = 5, .lanes = 3, .ranks = {{0, 2}, {3, 1}}};
  EXPECT_EQ(micro_batches_per_replica(plan), 4);
  EXPECT_EQ(schedule_of(plan).of(4).ranks, make_schedule("gpipe", 2, 4).ranks);
}

TEST(PlanSchedule, IsWhatItsActionsSay) {
  Plan plan{.schedule = "found", .micro_batches = 5, .lanes = 2, .ranks = {{0, 2}, {3, 1}}};
  plan.order = {4, 0, 1, 2, 3};
  const RunSchedule found = test::found_lists(2, 3, {2, 0, 1});
  plan.actions = rows_of(found.of(3));
  ASSERT_EQ(plan.actions.size(), 2u);
  EXPECT_EQ(plan.actions.front().substr(0, 4), "0F0,");
  const RunSchedule read = schedule_of(plan);
  EXPECT_EQ(read.name(), "found");
  for (const int batches : {1, 2, 3})
    EXPECT_EQ(read.of(batches).ranks, found.of(batches).ranks) << batches;
  plan.actions.clear();
  EXPECT_THROW(schedule_of(plan), ConfigError);
}

}  // namespace
}  // namespace penstock::partition
