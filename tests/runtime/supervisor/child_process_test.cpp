#include "runtime/supervisor/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using std::chrono::seconds;

TEST(ChildProcess, BringsOutputErrorsAndCode) {
  const CommandOutput result =
      run_command({{"sh", "-c", "echo out; echo err >&2; exit 7"}}, seconds(10));
  EXPECT_EQ(result.output, "out\n");
  EXPECT_EQ(result.errors, "err\n");
  EXPECT_EQ(result.code, 7);
  EXPECT_FALSE(result.timed_out);
}

TEST(ChildProcess, TakesWordsAsTheyAre) {
  EXPECT_EQ(run_command({{"printf", "%s|", "a b", "$(id)", "'"}}, seconds(10)).output,
            "a b|$(id)|'|");
}

TEST(ChildProcess, ReplacesVariables) {
  ::setenv("PENSTOCK_TEST", "old", 1);
  const Command command{{"sh", "-c", "echo $PENSTOCK_TEST"}, {{"PENSTOCK_TEST", "new"}}};
  EXPECT_EQ(run_command(command, seconds(10)).output, "new\n");
}

TEST(ChildProcess, IsEndedAfterItsTime) {
  const CommandOutput result =
      run_command({{"sh", "-c", "sleep 60 & sleep 60"}}, std::chrono::milliseconds(100));
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.code, 128 + SIGKILL);
}

TEST(ChildProcess, SaysThatAProgramIsMissing) {
  try {
    ChildProcess child({{"/no/such/program"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "/no/such/program can't be started: No such file or directory");
  }
}

TEST(ChildProcess, DiesWithItsObject) {
  pid_t process = 0;
  {
    const ChildProcess child({{"sleep", "60"}});
    process = child.process();
    EXPECT_EQ(::kill(process, 0), 0);
  }
  EXPECT_NE(::kill(process, 0), 0);
}

TEST(ChildProcess, HasNoSignalBlocked) {
  sigset_t signals, before;
  sigfillset(&signals);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  const CommandOutput result = run_command({{"sh", "-c", "kill -TERM $$; sleep 9"}}, seconds(5));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(result.code, 128 + SIGTERM);
}

}  // namespace
}  // namespace penstock::runtime
