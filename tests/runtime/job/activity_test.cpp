#include "runtime/job/activity.h"

#include <gtest/gtest.h>

#include <thread>

namespace penstock::runtime {
namespace {

TEST(Activity, SaysWhatTheRankDoes) {
  Activity activity;
  EXPECT_EQ(describe(activity.now()), "start");
  activity.place(5, 1, 2);
  activity.enter(Phase::step, 7, 100);
  activity.begin("forward", 3, 1, 0.5);
  EXPECT_EQ(describe(activity.now()), "stage 1, forward of micro-batch 3 on chunk 1");
  activity.wait_for(4);
  EXPECT_EQ(describe(activity.now()),
            "stage 1, forward of micro-batch 3 on chunk 1, waiting for rank 4");
  activity.go_on();
  activity.end_action();
  EXPECT_EQ(describe(activity.now()), "stage 1, step");
  const RankActivity now = activity.now();
  EXPECT_EQ(now.rank, 5);
  EXPECT_EQ(now.replica, 2);
  EXPECT_EQ(now.step, 7);
  EXPECT_EQ(now.steps, 100);
}

TEST(Activity, EachCallIsAnEvent) {
  Activity activity;
  std::int64_t before = activity.now().events;
  const auto is_event = [&](const auto& call) {
    call();
    const std::int64_t events = activity.now().events;
    EXPECT_GT(events, before);
    before = events;
  };
  is_event([&] { activity.enter(Phase::step, 1, 2); });
  is_event([&] { activity.begin("forward", 0, 0, 1); });
  is_event([&] { activity.end_action(); });
  is_event([&] { activity.advance(); });
  is_event([&] { activity.end_step(2); });
  EXPECT_EQ(activity.now().events, before);
}

TEST(Activity, BusyTimeLeavesWaitingOut) {
  Activity activity;
  activity.begin("forward", 0, 0, 2);
  activity.wait_for(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  activity.go_on();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  activity.end_action();
  activity.begin("step", 0, -1, 0);  // without a planned time it does not count
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  activity.end_action();
  EXPECT_EQ(activity.now().busy_s, 0);
  activity.end_step(1);
  EXPECT_GE(activity.now().busy_s, 0.02);
  EXPECT_EQ(activity.now().planned_busy_s, 2);
  activity.end_step(2);
  EXPECT_EQ(activity.now().busy_s, 0);
}

TEST(Activity, NamesPhasesBothWays) {
  for (const Phase phase : {Phase::start, Phase::step, Phase::save, Phase::validation, Phase::end})
    EXPECT_EQ(phase_of(name_of(phase)), phase);
  EXPECT_THROW((void)phase_of("lunch"), std::invalid_argument);
}

}  // namespace
}  // namespace penstock::runtime
