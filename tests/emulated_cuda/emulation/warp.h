#pragma once

#include <array>
#include <cstdint>
#include <list>

#include "tests/emulated_cuda/emulation/threads.h"

namespace emulated_cuda {

/// A call in which lanes of a warp meet. Its name and line must be the same for all of them.
struct WarpCall {
  const char* name;  // "__shfl_down_sync"
  unsigned mask;     // lanes that take part
  int line;
};

/// Holds what a lane brings to a meeting: a number of up to 8 bytes, or its operands of mma.
using WarpValue = std::array<std::uint64_t, 3>;

/// Holds what the lanes brought: `values` of those in `present`.
struct WarpValues {
  unsigned present = 0;
  std::array<WarpValue, 32> values{};
};

/// 32 threads of a block, or those that the block has of them.
class Warp {
 public:
  Warp(Threads& threads, int first);

  /// Waits until every lane of the mask that has not ended brought its value. fail() where the lane
  /// is not of the mask, or lanes meet in different calls. The values stay until it meets again.
  const WarpValues& meet(const WarpCall& call, const WarpValue& value);
  /// Lanes that wait for the current thread no longer do.
  void ended(const Thread& thread);

 private:
  struct Meeting {
    WarpCall call;
    unsigned arrived = 0;
    WarpValues gathering, gathered;
  };

  Meeting& meeting(unsigned mask);
  unsigned expected(const Meeting& meeting) const { return meeting.call.mask & exist_ & ~ended_; }
  void release(Meeting& meeting);

  Threads& threads_;
  int first_;  // thread's place
  unsigned exist_ = 0, ended_ = 0;
  std::list<Meeting> meetings_;  // one a mask
};

}  // namespace emulated_cuda
