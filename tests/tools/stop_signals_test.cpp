#include "tools/stop_signals.h"

#include <gtest/gtest.h>

namespace penstock::tools {
namespace {

TEST(StopSignals, AreRequestsOnceSomebodyHeedsThem) {
  for (const int signal : {SIGTERM, SIGUSR1}) {
    StopSignals signals;
    EXPECT_FALSE(signals.asked());
    EXPECT_FALSE(signals.asked());
    ::raise(signal);
    EXPECT_TRUE(signals.asked()) << signal;
    ::raise(signal);  // batch systems send it to a job and to each of its processes
    EXPECT_TRUE(signals.asked());
  }
}

TEST(StopSignalsDeathTest, EndTheProcessBeforeAndBehind) {
  for (const int signal : {SIGTERM, SIGUSR1}) {
    EXPECT_EXIT(
        {
          const StopSignals signals;
          ::raise(signal);
        },
        testing::KilledBySignal(signal), "");
    EXPECT_EXIT(
        {
          { StopSignals().asked(); }
          ::raise(signal);
        },
        testing::KilledBySignal(signal), "");
  }
}

}  // namespace
}  // namespace penstock::tools
