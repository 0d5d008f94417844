#include "runtime/supervisor/restart_policy.h"

#include <gtest/gtest.h>

namespace penstock::runtime {
namespace {

JobEnd failure(std::int64_t checkpoint, int code = 1) {
  return {.kind = JobEndKind::failed, .code = code, .checkpoint = checkpoint};
}

TEST(RestartPolicy, EndsWhenAllIsDone) {
  RestartPolicy policy({}, 0);
  const Decision decision = policy.decide({.kind = JobEndKind::done, .code = 0}, false);
  EXPECT_FALSE(decision.restarts);
  EXPECT_EQ(decision.code, 0);
}

TEST(RestartPolicy, EndsWith85AfterAStop) {
  RestartPolicy policy({}, 0);
  const Decision decision = policy.decide({.kind = JobEndKind::stopped, .code = 1}, false);
  EXPECT_FALSE(decision.restarts);
  EXPECT_EQ(decision.code, 85);
}

TEST(RestartPolicy, GoesOnAfterAStopOfItsOwn) {
  RestartPolicy policy({}, 0);
  for (int i = 0; i < 20; ++i) {
    const Decision decision = policy.decide({.kind = JobEndKind::stopped, .code = 85}, true);
    EXPECT_TRUE(decision.restarts);
    EXPECT_EQ(decision.pause_s, 0);
  }
}

TEST(RestartPolicy, NeverRepeatsWrongInput) {
  for (const int code : {2, 3}) {
    RestartPolicy policy({}, 0);
    const Decision decision = policy.decide(failure(100, code), false);
    EXPECT_FALSE(decision.restarts);
    EXPECT_EQ(decision.code, code);
    EXPECT_NE(decision.reason, "");
  }
}

TEST(RestartPolicy, NeverRepeatsADivergence) {
  RestartPolicy policy({}, 0);
  EXPECT_FALSE(policy.decide({.code = 1, .diverged = true, .checkpoint = 9}, false).restarts);
}

TEST(RestartPolicy, RestartsAtOnceAfterProgress) {
  RestartPolicy policy({}, 0);
  for (int step = 1; step < 1000; ++step) {
    const Decision decision = policy.decide(failure(step), false);
    EXPECT_TRUE(decision.restarts);
    EXPECT_EQ(decision.pause_s, 0);
  }
  EXPECT_EQ(policy.restarts(), 999);
}

TEST(RestartPolicy, PausesLongerWithoutProgressAndGivesUp) {
  RestartPolicy policy({.without_progress = 4}, 7);
  std::vector<double> pauses;
  for (int i = 0; i < 4; ++i) {
    const Decision decision = policy.decide(failure(7, 137), false);
    ASSERT_TRUE(decision.restarts);
    pauses.push_back(decision.pause_s);
  }
  EXPECT_EQ(pauses, (std::vector<double>{0, 1, 2, 4}));
  const Decision last = policy.decide(failure(7, 137), false);
  EXPECT_FALSE(last.restarts);
  EXPECT_EQ(last.code, 137);
  EXPECT_EQ(last.reason, "5 incarnations in a row made no new checkpoint");
}

TEST(RestartPolicy, BoundsThePause) {
  RestartPolicy policy({.without_progress = 50}, 0);
  double pause = 0;
  for (int i = 0; i < 50; ++i) pause = policy.decide(failure(0), false).pause_s;
  EXPECT_EQ(pause, 60);
}

TEST(RestartPolicy, GivesUpAHangWith86) {
  RestartPolicy policy({.without_progress = 0}, 0);
  EXPECT_EQ(policy.decide({.kind = JobEndKind::hung, .code = 86}, false).code, 86);
}

TEST(RestartPolicy, CountsAnewAfterProgress) {
  RestartPolicy policy({.without_progress = 1}, 0);
  EXPECT_TRUE(policy.decide(failure(0), false).restarts);
  EXPECT_TRUE(policy.decide(failure(5), false).restarts);
  EXPECT_TRUE(policy.decide(failure(5), false).restarts);
  EXPECT_FALSE(policy.decide(failure(5), false).restarts);
}

}  // namespace
}  // namespace penstock::runtime
