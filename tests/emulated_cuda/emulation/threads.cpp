#include "tests/emulated_cuda/emulation/threads.h"

#include <bit>

#include "tests/emulated_cuda/emulation/device/indices.h"

namespace emulated_cuda {

void Threads::begin(const dim3& shape, Order& order) {
  const unsigned count = shape.x * shape.y * shape.z;
  by_priority_ = order.arrange(static_cast<int>(count));
  threads_.assign(count, {});
  ready_.assign((count + 63) / 64, 0);
  for (unsigned priority = 0; priority < count; ++priority) {
    const auto place = static_cast<unsigned>(by_priority_[priority]);
    threads_[place] = {
        .index = {place % shape.x, place / shape.x % shape.y, place / (shape.x * shape.y)},
        .place = static_cast<int>(place),
        .priority = static_cast<int>(priority)};
    mark_ready(threads_[place]);
  }
}

void Threads::run() {
  Fiber host;
  host_ = &host;
  leave(host, false);
  host_ = nullptr;
  current_ = nullptr;
}

void Threads::wait(const char* at, int line) {
  Thread& self = *current_;
  self.waits_at = at;
  self.line = line;
  leave(*self.fiber, false);
}

void Threads::give_way() {
  mark_ready(*current_);
  leave(*current_->fiber, false);
}

void Threads::end() {
  Fiber& fiber = *current_->fiber;
  current_->ended = true;
  leave(fiber, true);
}

void Threads::wake(Thread& thread) {
  thread.waits_at = nullptr;
  mark_ready(thread);
}

void Threads::rearrange(Order& order) {
  if (order.kind() != Order::Kind::random) return;
  std::vector<Thread*> waiting_for_turn;
  for (Thread& thread : threads_)
    if (ready_[static_cast<std::size_t>(thread.priority) / 64] >> (thread.priority % 64) & 1)
      waiting_for_turn.push_back(&thread);
  by_priority_ = order.arrange(static_cast<int>(threads_.size()));
  for (std::size_t priority = 0; priority < by_priority_.size(); ++priority)
    threads_[static_cast<std::size_t>(by_priority_[priority])].priority =
        static_cast<int>(priority);
  ready_.assign(ready_.size(), 0);
  for (const Thread* thread : waiting_for_turn) mark_ready(*thread);
}

void Threads::mark_ready(const Thread& thread) {
  ready_[static_cast<std::size_t>(thread.priority) / 64] |= std::uint64_t{1}
                                                            << (thread.priority % 64);
}

Thread* Threads::take_first() {
  for (std::size_t word = 0; word < ready_.size(); ++word) {
    if (ready_[word] == 0) continue;
    const std::size_t priority =
        word * 64 + static_cast<std::size_t>(std::countr_zero(ready_[word]));
    ready_[word] &= ready_[word] - 1;
    return &threads_[static_cast<std::size_t>(by_priority_[priority])];
  }
  return nullptr;
}

void Threads::leave(Fiber& self, bool ended) {
  Thread* next = take_first();
  if (next == nullptr) {
    if (&self == host_) return;
    if (ended) idle_.push_back(&self);
    self.switch_to(*host_);
    return;
  }
  if (next->fiber == nullptr)
    next->fiber = ended ? &self : &idle_fiber();
  else if (ended)
    idle_.push_back(&self);
  current_ = next;
  threadIdx = next->index;
  if (next->fiber != &self) self.switch_to(*next->fiber);
}

Fiber& Threads::idle_fiber() {
  if (idle_.empty()) return fibers_.emplace_back(entry_);
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

}  // namespace emulated_cuda
