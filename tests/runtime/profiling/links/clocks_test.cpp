#include "runtime/profiling/links/clocks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "comm/threads.h"

namespace penstock::runtime {
namespace {

TEST(ClockOffset, IsNearZeroBetweenRanksOfOneClock) {
  comm::run_as_threads({.ranks = 3}, [](comm::Communicator& ranks) {
    const double offset = clock_offset(ranks);
    if (ranks.rank() == 0) {
      EXPECT_EQ(offset, 0);
    }
    EXPECT_LT(std::abs(offset), 0.01);
  });
}

}  // namespace
}  // namespace penstock::runtime
