// That nothing waits shows in the numbers where accesses are not watched for races.

#include <gtest/gtest.h>

#include "tests/emulated_cuda/emulation/control.h"
#include "tests/emulated_cuda/three_streams.h"

namespace emulated_cuda::test {
namespace {

TEST(Streams, ShowAMissingEvent) {
  set_order(Order(Order::Kind::forward));
  const int oldest_first = wrong_squares({.with_events = false});
  set_order(Order(Order::Kind::reversed));
  EXPECT_GT(oldest_first + wrong_squares({.with_events = false}), 0);
}

}  // namespace
}  // namespace emulated_cuda::test
