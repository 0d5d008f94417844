#pragma once

#include <cstddef>

namespace emulated_cuda {

/// A stack to run on. One of them runs at a time, until it switches to another: a few nanoseconds.
class Fiber {
 public:
  /// The stack of the calling host thread.
  Fiber();
  /// A stack of its own, on which `entry` starts when it is first switched to and never returns.
  explicit Fiber(void (*entry)());
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// Leaves this fiber, the running one, for `next`; returns when another switches back.
  void switch_to(Fiber& next);

  bool holds(const void* address) const {
    const auto* byte = static_cast<const std::byte*>(address);
    return byte >= bottom_ && byte < bottom_ + bytes_;
  }

 private:
  struct Landing;

  void (*entry_)() = nullptr;  // of a stack of its own
  void* context_ = nullptr;    // where it goes on
  void* sanitizer_ = nullptr;  // what the address sanitizer keeps while it does not run
  std::byte* bottom_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace emulated_cuda
