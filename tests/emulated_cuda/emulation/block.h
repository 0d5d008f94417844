#pragma once

#include <vector>

#include "tests/emulated_cuda/emulation/shared_memory.h"
#include "tests/emulated_cuda/emulation/threads.h"
#include "tests/emulated_cuda/emulation/warp.h"

namespace emulated_cuda {

/// One block of CUDA threads. Between two barriers its threads run one after the other, in the
/// order's order.
class Block {
 public:
  /// Fibers start in `entry`, which calls run_thread for ever.
  explicit Block(void (*entry)()) : threads(entry) {}

  /// Runs all threads to their end. fail() where some wait for what can't come.
  void run(const dim3& shape, std::size_t dynamic_shared_bytes, Order& order);

  /// For the current thread: __syncthreads of that line. fail() where other threads are at another,
  /// or have ended.
  void sync(int line);
  /// For the current thread: it has returned from the kernel.
  void end_thread();

  Warp& warp_of(const Thread& thread) { return warps_[static_cast<std::size_t>(thread.warp())]; }
  /// How many barriers the block has passed.
  unsigned syncs() const { return syncs_; }

  Threads threads;
  SharedMemory shared;

 private:
  void release();
  void expect_all_ended();

  Order* order_ = nullptr;
  std::vector<Warp> warps_;
  int arrived_ = 0, ended_ = 0, line_ = 0;
  unsigned syncs_ = 0;
};

}  // namespace emulated_cuda
