#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "tests/emulated_cuda/emulation/fiber.h"
#include "tests/emulated_cuda/emulation/order.h"

namespace emulated_cuda {

struct Thread {
  uint3 index{};                   // threadIdx
  int place = 0;                   // in the block, x fastest
  int priority = 0;                // of those that can go on, the lowest goes
  Fiber* fiber = nullptr;          // null before it starts
  const char* waits_at = nullptr;  // "__syncthreads"; null where it can go on
  int line = 0;                    // of that call
  bool ended = false;
  unsigned warp_syncs = 0;  // how many __syncwarp of the whole warp it has passed

  int warp() const { return place / 32; }
  int lane() const { return place % 32; }
};

/// The threads of the running block: one of them has the processor until it waits or ends.
class Threads {
 public:
  /// Each thread's fiber starts in `entry`, which runs the kernel for current(), again and again.
  explicit Threads(void (*entry)()) : entry_(entry) {}

  /// All threads of a new block, none started.
  void begin(const dim3& shape, Order& order);
  /// From the host's stack: returns when every thread waits or has ended.
  void run();

  std::vector<Thread>& all() { return threads_; }
  /// Null where no kernel runs.
  Thread* current() const { return current_; }

  // For the current thread.
  void wait(const char* at, int line);
  /// Any thread whose turn it is goes on, this one too.
  void give_way();
  /// Returns on this fiber for a thread that had not started, else not before there is one.
  void end();

  void wake(Thread& thread);
  /// Gives the threads new priorities, where the order is random.
  void rearrange(Order& order);

 private:
  void mark_ready(const Thread& thread);
  Thread* take_first();
  void leave(Fiber& self, bool ended);
  Fiber& idle_fiber();

  void (*entry_)();
  std::vector<Thread> threads_;
  std::vector<int> by_priority_;      // thread
  std::vector<std::uint64_t> ready_;  // a bit for each priority
  Thread* current_ = nullptr;
  Fiber* host_ = nullptr;
  std::deque<Fiber> fibers_;
  std::vector<Fiber*> idle_;
};

}  // namespace emulated_cuda
