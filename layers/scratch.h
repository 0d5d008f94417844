#pragma once

#include <cstddef>
#include <span>

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Allocates from a method's workspace. A Scratch without memory counts the bytes of the same
/// calls, for the declaration, so declared and used bytes can't differ.
class Scratch {
 public:
  Scratch() = default;
  explicit Scratch(std::span<std::byte> memory) : memory_(memory), counting_(false) {}

  /// Returns `count` uninitialised numbers on a kAlignment boundary, or null when counting.
  /// ShapeError if the memory is used up.
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

/// Returns a tensor of the workspace, or one without data if `scratch` counts.
[[nodiscard]] Tensor tensor_in(Scratch& scratch, DType dtype, const Shape& shape);

}  // namespace penstock::layers
