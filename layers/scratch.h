#pragma once

#include <cstddef>
#include <span>

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Deals out a method's workspace. The same sequence of takes, done on a Scratch without memory,
/// counts the bytes to declare: so the declared and the used can't differ.
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(std::span<std::byte> memory) : memory_(memory), counting_(false) {}

  /// `count` uninitialised numbers on a kAlignment boundary; null when counting. ShapeError if the
  /// memory is used up.
  template <class T>
  T* take(std::int64_t count) {
    const std::size_t first = used_;
    used_ += aligned(static_cast<std::size_t>(count) * sizeof(T));
    if (counting_) return nullptr;
    if (used_ > memory_.size()) throw_too_small();
    return reinterpret_cast<T*>(memory_.data() + first);
  }

  std::size_t used() const { return used_; }

 private:
  [[noreturn]] void throw_too_small() const;

  std::span<std::byte> memory_;
  std::size_t used_ = 0;
  bool counting_ = true;
};

}  // namespace penstock::layers
