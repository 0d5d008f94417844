#include "runtime/supervisor/stop_requests.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// The signals are blocked in all threads of the test by its first object, so that they go nowhere
/// else.
class StopRequestsOf : public ::testing::Test {
 protected:
  void SetUp() override { pthread_sigmask(SIG_SETMASK, nullptr, &before_); }
  void TearDown() override { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  static void raise(int signal) { pthread_kill(pthread_self(), signal); }
  sigset_t before_{};
};

TEST_F(StopRequestsOf, SignalsAreReasons) {
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT}) {
    StopRequests stops({});
    EXPECT_EQ(stops.reason(0), StopReason::none);
    raise(signal);
    pollfd polled{stops.descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&polled, 1, 0), 1);
    EXPECT_EQ(stops.reason(0), StopReason::signal);
    EXPECT_EQ(stops.reason(0), StopReason::signal);
    EXPECT_FALSE(stops.impatient());
  }
}

TEST_F(StopRequestsOf, ASecondInterruptIsImpatient) {
  StopRequests stops({});
  raise(SIGINT);
  (void)stops.reason(0);
  raise(SIGTERM);
  (void)stops.reason(0);
  EXPECT_FALSE(stops.impatient());
  raise(SIGINT);
  (void)stops.reason(0);
  EXPECT_TRUE(stops.impatient());
}

TEST_F(StopRequestsOf, AFileIsANotice) {
  const test::TemporaryFolder folder;
  StopRequests stops({.file = folder.path() / "notice"});
  EXPECT_FALSE(stops.wait(0.05));
  test::write_file(folder.path() / "notice", "");
  EXPECT_TRUE(stops.wait(5));
  EXPECT_EQ(stops.reason(0), StopReason::notice);
}

TEST_F(StopRequestsOf, ACommandThatSucceedsIsANotice) {
  const test::TemporaryFolder folder;
  const std::string file = folder.path() / "notice";
  StopRequests stops({.command = "test -e '" + file + "'", .every_s = 0.05});
  EXPECT_FALSE(stops.wait(0.3));
  test::write_file(file, "");
  EXPECT_TRUE(stops.wait(5));
}

TEST_F(StopRequestsOf, ACommandThatHangsIsEnded) {
  StopRequests stops({.command = "sleep 60", .every_s = 0.05});
  EXPECT_FALSE(stops.wait(0.5));
}

TEST_F(StopRequestsOf, TheReserveComesOffTheTime) {
  StopRequests stops({.max_seconds = 100});
  EXPECT_EQ(stops.reason(90), StopReason::none);
  EXPECT_EQ(stops.reason(100), StopReason::time);
  EXPECT_EQ(describe(StopReason::time), "the end of --max-seconds");
}

}  // namespace
}  // namespace penstock::runtime
