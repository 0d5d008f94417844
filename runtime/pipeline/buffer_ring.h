#pragma once

#include <cstddef>
#include <vector>

#include "layers/backend.h"

namespace penstock::runtime {

/// Memory of a device, or such of the host as it copies from, divided into equal buffers that are
/// taken and given back. What comes next may divide it in another way.
class BufferRing {
 public:
  enum class Memory { device, host };
  explicit BufferRing(Memory memory = Memory::device) : kind_(memory) {}

  /// Allocates unless there is as much already; then, of what was divided nothing is left.
  void reserve(layers::Backend& backend, std::size_t bytes) {
    if (bytes <= memory_.bytes()) return;
    memory_ = layers::Buffer();  // given back before more is asked for
    memory_ = kind_ == Memory::host ? backend.allocate_host(bytes) : backend.allocate(bytes);
  }

  /// Makes `count` buffers of `bytes` each of it, all free; allocates where there is too little.
  void divide(layers::Backend& backend, int count, std::size_t bytes) {
    bytes_ = layers::aligned(bytes);
    reserve(backend, bytes_ * count);
    taken_.assign(count, false);
  }

  /// Number of a free buffer, or -1.
  int take() {
    for (std::size_t i = 0; i < taken_.size(); ++i)
      if (!taken_[i]) {
        taken_[i] = true;
        return static_cast<int>(i);
      }
    return -1;
  }
  void give_back(int buffer) { taken_[buffer] = false; }

  /// All that is divided.
  std::size_t bytes() const { return memory_.bytes(); }

  std::byte* operator[](int buffer) const { return memory_.data() + bytes_ * buffer; }

 private:
  Memory kind_;
  layers::Buffer memory_;
  std::size_t bytes_ = 0;
  std::vector<bool> taken_;
};

}  // namespace penstock::runtime
