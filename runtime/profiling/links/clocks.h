#pragma once

#include <chrono>
#include <functional>

#include "comm/communicator.h"

namespace penstock::runtime {

// These functions read clocks: the seconds of some work, and the offset of a rank's clock.

/// Returns the seconds that `work` takes by the steady clock.
inline double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Returns the seconds by which this rank's std::chrono::steady_clock is ahead of rank 0's; 0 on
/// rank 0. Of several pings it takes the fastest, and assumes that the answer was sent in the
/// middle of that round trip (Cristian 1989). So the error is at most half of the round trip. Every
/// rank calls it.
[[nodiscard]] double clock_offset(comm::Communicator& ranks);

}  // namespace penstock::runtime
