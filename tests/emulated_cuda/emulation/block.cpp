#include "tests/emulated_cuda/emulation/block.h"

#include <string>

#include "tests/emulated_cuda/emulation/failure.h"

namespace emulated_cuda {
namespace {

constexpr const char* kBarrier = "__syncthreads";

}  // namespace

void Block::run(const dim3& shape, std::size_t dynamic_shared_bytes, Order& order) {
  order_ = &order;
  arrived_ = ended_ = 0;
  syncs_ = 0;
  threads.begin(shape, order);
  warps_.clear();
  for (int first = 0; first < static_cast<int>(threads.all().size()); first += 32)
    warps_.emplace_back(threads, first);
  shared.begin(dynamic_shared_bytes);
  threads.run();
  expect_all_ended();
  shared.end();
}

void Block::sync(int line) {
  if (arrived_ != 0 && line != line_)
    fail("threads of a block are in different __syncthreads: of lines ", line_, " and ", line);
  line_ = line;
  ++arrived_;
  if (arrived_ + ended_ < static_cast<int>(threads.all().size())) {
    threads.wait(kBarrier, line);
  } else {
    release();
    threads.give_way();
  }
}

void Block::end_thread() {
  ++ended_;
  const Thread& self = *threads.current();
  warp_of(self).ended(self);
  if (arrived_ != 0 && arrived_ + ended_ == static_cast<int>(threads.all().size())) release();
  threads.end();
}

void Block::release() {
  if (ended_ != 0)
    fail("__syncthreads of line ", line_, " is passed by ", arrived_, " threads; ", ended_,
         " others of the block have already returned");
  arrived_ = 0;
  ++syncs_;
  for (Thread& thread : threads.all())
    if (thread.waits_at == kBarrier) threads.wake(thread);
  threads.rearrange(*order_);
}

void Block::expect_all_ended() {
  std::string waiting;
  for (const Thread& thread : threads.all())
    if (!thread.ended && waiting.size() < 300)
      waiting += "\n  thread " + std::to_string(thread.place) + " waits in " + thread.waits_at +
                 " of line " + std::to_string(thread.line);
  if (!waiting.empty())
    fail("a block can't go on: ", ended_, " of ", threads.all().size(), " threads returned",
         waiting);
}

}  // namespace emulated_cuda
