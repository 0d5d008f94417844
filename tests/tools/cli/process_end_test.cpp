#include "tools/cli/process_end.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>

#include "base/error.h"
#include "tests/support/runtime/training_folder.h"
#include "tools/cli/launch.h"

namespace penstock::tools {
namespace {

TEST(ExitCode, FollowsTheErrorsType) {
  EXPECT_EQ(exit_code(ConfigError("")), 2);
  EXPECT_EQ(exit_code(DataError("")), 3);
  EXPECT_EQ(exit_code(CheckpointError("")), 4);
  EXPECT_EQ(exit_code(CommError("")), 1);
  EXPECT_EQ(exit_code(ShapeError("")), 1);
  EXPECT_EQ(exit_code(DivergenceError("")), 1);
  EXPECT_EQ(exit_code(std::bad_alloc()), 1);
}

using Ended = ::testing::ExitedWithCode;
using std::chrono::milliseconds;

[[noreturn]] void hang() {
  std::this_thread::sleep_for(std::chrono::seconds(60));
  std::_Exit(99);
}

TEST(Watchdog, EndsAProcessThatHangs) {
  EXPECT_EXIT(
      {
        end_process_within(milliseconds(20), 4);
        hang();
      },
      Ended(4), "");
}

TEST(Watchdog, LeavesAProcessThatEnds) {
  EXPECT_EXIT(
      {
        end_process_within(std::chrono::seconds(60), 4);
        std::exit(0);
      },
      Ended(0), "");
}

TEST(Watchdog, StandsBehindEveryComplaint) {
  EXPECT_EXIT(
      {
        (void)complain_and_end(CheckpointError("no such tensor"), milliseconds(20));
        hang();
      },
      Ended(4), "penstock: no such tensor");
}

/// Commands that begin with a recipe which nobody writes, so that they wait where they read it.
class StopSignalsOf : public testing::Test {
 protected:
  test::Outcome run_in_shell(const std::string& script) const {
    return test::run_program({"timeout", "-k", "2", "30", "sh", "-c", script});
  }
  std::string train(const std::string& more) const {
    return PENSTOCK_BINARY " train " + folder_.in("recipe.toml") +
           " trainer.steps=1000000 trainer.validate_every=-1 data.loaders=2 trainer.threads=2 " +
           more;
  }
  std::string until_step() const {
    return "until grep -q step '" + folder_.in("output/metrics.jsonl") +
           "' 2> /dev/null; do sleep 0.02; done; ";
  }
  /// Sends `signal` to a command that waits for its recipe, and gives its exit code.
  int code_of_waiting(const std::string& command, const std::string& signal) const {
    return run_in_shell("mkfifo " + folder_.in("pipe") + "; " PENSTOCK_BINARY " " + command + " " +
                        folder_.in("pipe") +
                        " & until grep -q 'State:.*sleeping' /proc/$!/status && grep -q penstock "
                        "/proc/$!/comm; do sleep 0.01; done; sleep 0.1; kill -" +
                        signal + " $!; wait $!; code=$?; rm " + folder_.in("pipe") + "; exit $code")
        .code;
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

// SIGUSR1 and SIGTERM are the bits 9 and 14: digits 3 and 4 from the right, odd in "a" and such.
TEST_F(StopSignalsOf, AreBlockedOnAllThreadsButTheReader) {
  const auto outcome = run_in_shell(
      train("") + " 2> /dev/null & " + until_step() +
      "cat /proc/$!/task/*/status | sed -n 's/^SigBlk:.*\\(..\\)..$/\\1/p' | sort | uniq -c; "
      "sed -n 's/^SigCgt:.*\\(..\\)..$/caught \\1/p' /proc/$!/status; kill -9 $!");
  std::istringstream lines(outcome.out);
  int blocked = 0, open = 0;
  std::string caught;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string count, mask;
    words >> count >> mask;
    const int bits = std::stoi(mask, nullptr, 16);
    if (count == "caught") {
      caught = mask;
      EXPECT_EQ(bits & 0x42, 0) << "a handler takes them";
    } else if ((bits & 0x42) == 0x42) {
      blocked += std::stoi(count);
    } else {
      open += std::stoi(count);
    }
  }
  EXPECT_NE(caught, "") << outcome.out << outcome.err;
  EXPECT_EQ(open, 1) << outcome.out;
  EXPECT_GE(blocked, 4) << outcome.out;  // main's, OpenMP's, two loaders, the writer, OpenBLAS's
}

TEST_F(StopSignalsOf, EndARunThatCannotSaveYet) {
  EXPECT_EQ(code_of_waiting("train", "TERM"), 128 + SIGTERM);
  EXPECT_EQ(code_of_waiting("train", "USR1"), 128 + SIGUSR1);
}

TEST_F(StopSignalsOf, EndOtherCommands) {
  EXPECT_EQ(code_of_waiting("plan", "TERM"), 128 + SIGTERM);
  EXPECT_EQ(code_of_waiting("plan", "USR1"), 128 + SIGUSR1);
}

// Batch systems send them to a job and to each of its processes.
TEST_F(StopSignalsOf, DoNotChangeTheCodeWhenMoreFollow) {
  const auto outcome =
      run_in_shell(train("") + " & " + until_step() +
                   "kill -USR1 $!; while kill -USR1 $! 2> /dev/null && kill -TERM $! 2> "
                   "/dev/null; do :; done; wait $!");
  EXPECT_EQ(outcome.code, 85) << outcome.err;
  EXPECT_NE(outcome.out.find("stopped on request: "), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace penstock::tools
