#include "runtime/supervisor/rank_watch.h"

#include <gtest/gtest.h>

namespace penstock::runtime {
namespace {

using std::chrono::seconds;

/// A watch over three ranks that are all in a step, with a clock that the test moves.
class RankWatchOf : public ::testing::Test {
 protected:
  RankWatchOf() {
    for (int rank = 0; rank < 3; ++rank) {
      ranks_[rank].rank = ranks_[rank].stage = rank;
      ranks_[rank].host = "lion";
      ranks_[rank].phase = Phase::step;
      ranks_[rank].action = "forward of micro-batch 3 on chunk 1";
      ranks_[rank].step_s = 0.5;
    }
    hear_all();
  }

  void hear(int rank) { watch_.hear(ranks_[rank], now_); }
  void hear_all() {
    for (int rank = 0; rank < 3; ++rank) hear(rank);
  }
  /// Lets time pass in which every rank but `silent` is heard each second, without new events.
  void pass(int total, int silent = -1) {
    for (int second = 0; second < total; ++second) {
      now_ += seconds(1);
      for (int rank = 0; rank < 3; ++rank)
        if (rank != silent) hear(rank);
    }
  }

  RankWatch::Time now_{};
  WatchLimits limits_;
  RankWatch watch_{limits_, 3, now_};
  RankActivity ranks_[3];
};

TEST_F(RankWatchOf, FindsNoHangWhileOneRankMakesProgress) {
  for (int i = 0; i < 60; ++i) {
    ++ranks_[1].events;
    pass(1);
    EXPECT_FALSE(watch_.find_hang(now_));
  }
}

TEST_F(RankWatchOf, NamesTheSilentRank) {
  ranks_[0].waits_for = ranks_[1].waits_for = 2;
  pass(10, 2);
  EXPECT_FALSE(watch_.find_hang(now_));
  pass(1, 2);
  const auto hang = watch_.find_hang(now_);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->culprit.rank, 2);
  EXPECT_TRUE(hang->silent);
  EXPECT_EQ(describe(*hang),
            "no rank made progress for 11 s (limit 10 s): rank 2 on lion is silent, last seen in "
            "stage 2, forward of micro-batch 3 on chunk 1");
}

TEST_F(RankWatchOf, NamesTheRankThatComputes) {
  ranks_[0].waits_for = 1;
  ranks_[2].waits_for = 1;
  pass(11);
  const auto hang = watch_.find_hang(now_);
  ASSERT_TRUE(hang);
  EXPECT_EQ(hang->culprit.rank, 1);
  EXPECT_FALSE(hang->silent);
}

TEST_F(RankWatchOf, NamesTheRankForWhichOthersWait) {
  ranks_[0].waits_for = 1;
  ranks_[1].action = "step";
  ranks_[2].waits_for = 0;
  pass(11);
  ASSERT_TRUE(watch_.find_hang(now_));
  EXPECT_EQ(watch_.find_hang(now_)->culprit.rank, 1);
}

TEST_F(RankWatchOf, AllowsThreeTimesThePlannedTime) {
  ranks_[1].planned_s = 20;
  pass(60);
  EXPECT_FALSE(watch_.find_hang(now_));
  pass(1);
  EXPECT_TRUE(watch_.find_hang(now_));
}

TEST_F(RankWatchOf, AllowsMoreIfTheLastStepWasSlower) {
  ranks_[1].planned_s = 20;
  ranks_[1].busy_s = 30;
  ranks_[1].planned_busy_s = 10;
  pass(180);
  EXPECT_FALSE(watch_.find_hang(now_));
  pass(1);
  EXPECT_TRUE(watch_.find_hang(now_));
}

TEST_F(RankWatchOf, AllowsAnUpdateThreeTimesTheLastStep) {
  for (const char* action : {"step", ""}) {
    ranks_[1].action = action;
    ranks_[1].step_s = 20;
    ++ranks_[1].events;
    pass(61);
    EXPECT_FALSE(watch_.find_hang(now_)) << action;
    pass(1);
    EXPECT_TRUE(watch_.find_hang(now_)) << action;
  }
}

TEST_F(RankWatchOf, AllowsTheFirstStepMore) {
  ranks_[1].step_s = 0;
  pass(static_cast<int>(limits_.first_step_s));
  EXPECT_FALSE(watch_.find_hang(now_));
  pass(1);
  EXPECT_TRUE(watch_.find_hang(now_));
}

TEST_F(RankWatchOf, IgnoresThePlannedTimeOfWaitingRanks) {
  ranks_[0].planned_s = 100;
  ranks_[0].waits_for = 1;
  pass(11);
  EXPECT_TRUE(watch_.find_hang(now_));
}

TEST_F(RankWatchOf, GivesASaveItsOwnLimit) {
  ranks_[0].phase = Phase::save;
  pass(static_cast<int>(limits_.save_s));
  EXPECT_FALSE(watch_.find_hang(now_));
  pass(1);
  EXPECT_TRUE(watch_.find_hang(now_));
}

TEST_F(RankWatchOf, ForgivesItsOwnPause) {
  now_ += seconds(1000);
  watch_.forgive(seconds(1000));
  EXPECT_FALSE(watch_.find_hang(now_));
}

TEST_F(RankWatchOf, FindsARankThatNeverSpoke) {
  RankWatch watch(limits_, 4, now_);
  for (int rank = 0; rank < 3; ++rank) watch.hear(ranks_[rank], now_);
  now_ += seconds(static_cast<int>(limits_.start_s));
  EXPECT_FALSE(watch.find_hang(now_));
  now_ += seconds(1);
  ASSERT_TRUE(watch.find_hang(now_));
  EXPECT_EQ(watch.find_hang(now_)->culprit.rank, 3);
}

TEST_F(RankWatchOf, RunsOnceAllRanksHaveBegun) {
  EXPECT_TRUE(watch_.running());
  RankWatch watch(limits_, 3, now_);
  watch.hear(ranks_[0], now_);
  watch.hear(ranks_[1], now_);
  EXPECT_FALSE(watch.running());
}

TEST_F(RankWatchOf, IgnoresRanksOutsideTheJob) {
  ranks_[0].rank = 3;
  hear(0);
  ranks_[0].rank = -1;
  hear(0);
  EXPECT_EQ(watch_.activities().size(), 3);
}

/// Lets each rank end so many steps, with these busy seconds where one was planned.
void run_steps(RankWatch& watch, RankActivity* ranks, int steps, std::vector<double> busy) {
  for (int step = 0; step < steps; ++step)
    for (int rank = 0; rank < 3; ++rank) {
      ++ranks[rank].step;
      ++ranks[rank].events;
      ranks[rank].busy_s = busy[rank];
      ranks[rank].planned_busy_s = 1;
      watch.hear(ranks[rank], {});
    }
}

TEST_F(RankWatchOf, ReportsAStragglerOnce) {
  run_steps(watch_, ranks_, 2, {1.5, 1.5, 3.1});
  EXPECT_FALSE(watch_.take_straggler());
  run_steps(watch_, ranks_, 1, {1.5, 1.5, 3.1});
  const auto straggler = watch_.take_straggler();
  ASSERT_TRUE(straggler);
  EXPECT_EQ(straggler->rank.rank, 2);
  EXPECT_NEAR(straggler->factor, 3.1 / 1.5, 1e-12);
  EXPECT_NE(describe(*straggler).find("computed for 3.10 s in step 3, planned were 1.00 s"),
            std::string::npos)
      << describe(*straggler);
  run_steps(watch_, ranks_, 9, {1.5, 1.5, 3.1});
  EXPECT_FALSE(watch_.take_straggler());
}

TEST_F(RankWatchOf, CallsNobodyAStragglerIfAllAreSlow) {
  run_steps(watch_, ranks_, 9, {30, 30, 40});
  EXPECT_FALSE(watch_.take_straggler());
}

TEST_F(RankWatchOf, CallsNobodyAStragglerForAMoment) {
  for (int i = 0; i < 5; ++i) {
    run_steps(watch_, ranks_, 2, {1, 1, 9});
    run_steps(watch_, ranks_, 1, {1, 1, 1});
  }
  EXPECT_FALSE(watch_.take_straggler());
}

}  // namespace
}  // namespace penstock::runtime
