#include "partition/schedule/run_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/error.h"
#include "partition/planner/plan/plan_schedule.h"
#include "partition/schedule/in_flight.h"
#include "partition/schedule/make_schedule.h"
#include "partition/schedule/validator/validator.h"
#include "tests/support/partition/found_lists.h"
#include "tests/support/partition/schedule_interpreter.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

TEST(RunSchedule, MakesNamedSchedulesOfAnyLength) {
  const RunSchedule named("zb-v", 3);
  EXPECT_EQ(named.name(), "zb-v");
  EXPECT_TRUE(named.splits_backward());
  EXPECT_EQ(named.chunk_ranks(), chunk_ranks("zb-v", 3));
  for (const int batches : {1, 4, 9})
    EXPECT_EQ(named.of(batches).ranks, make_schedule("zb-v", 3, batches).ranks);
  EXPECT_FALSE(RunSchedule("1f1b", 2).splits_backward());
  EXPECT_THROW(RunSchedule("found", 2), ConfigError);
}

// A step that is not whole must hang no rank, and need no buffer that was not planned.
TEST(RunSchedule, LeavesOutWhatAShorterStepLacks) {
  std::mt19937 random(7);
  for (const int stages : {1, 2, 3, 4})
    for (const int own : {2, 5, 8}) {
      std::vector<int> sizes(static_cast<std::size_t>(own));
      std::iota(sizes.begin(), sizes.end(), 0);
      std::ranges::shuffle(sizes, random);
      const RunSchedule found = test::found_lists(stages, own, sizes);
      const Schedule whole = found.of(own);
      for (int batches = 1; batches <= own; ++batches) {
        const Schedule step = found.of(batches);
        EXPECT_EQ(step.micro_batches, batches);
        EXPECT_NO_THROW(validate(step));
        EXPECT_EQ(test::run_schedule(step, random), "");
        for (int stage = 0; stage < stages; ++stage) {
          InFlight max = count_in_flight(whole, stage);
          const InFlight before = max;
          max.cover(count_in_flight(step, stage));
          EXPECT_EQ(max.slots, before.slots);
          EXPECT_EQ(max.inputs, before.inputs);
          EXPECT_EQ(max.output_gradients, before.output_gradients);
        }
      }
    }
}

TEST(RunSchedule, LeavesOutTheShortest) {
  const std::vector<std::string> whole{"0F0,0F1,0B0,0W0,0F2,0B1,0W1,0B2,0W2"};
  const auto left = [&](const std::vector<int>& sizes) {
    return RunSchedule(lists_of(whole), sizes).of(2).ranks;
  };
  const auto in_turn = lists_of({"0F0,0B0,0W0,0F1,0B1,0W1"}).ranks;
  const auto together = lists_of({"0F0,0F1,0B0,0W0,0B1,0W1"}).ranks;
  EXPECT_EQ(left({1, 2, 0}), in_turn);  // place 1 has the shortest
  EXPECT_EQ(left({2, 0, 1}), together);
}

TEST(RunSchedule, RejectsListsThatAreNotSound) {
  Schedule lists = make_schedule("zb-h1", 2, 3);
  std::swap(lists.ranks[1].front(), lists.ranks[1].back());
  EXPECT_THROW(RunSchedule(lists, {}), ConfigError);
  EXPECT_THROW(RunSchedule(make_schedule("zb-h1", 2, 3), {0, 1}), ConfigError);
  const RunSchedule found(make_schedule("zb-h1", 2, 3), {});
  EXPECT_THROW(found.of(4), ConfigError);
  EXPECT_THROW(found.of(0), ConfigError);
}

}  // namespace
}  // namespace penstock::partition
