#include "tools/cli/watchdog.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "tools/cli/launch.h"

namespace penstock::tools {
namespace {

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

}  // namespace
}  // namespace penstock::tools
