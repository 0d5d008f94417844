#pragma once

#include <cstddef>
#include <vector>

#include "layers/backend.h"

namespace penstock::runtime {

/// Memory of a device, or pinned memory of the host, divided into equal buffers that are taken and
/// given back. It may be divided again for the next step, into other sizes.
class BufferRing {
 public:
  enum class Memory { device, host };
  explicit BufferRing(Memory memory = Memory::device) : kind_(memory) {}

  /// Ensures a capacity of `bytes`. If it has to reallocate, all buffers of the current division
  /// are lost.
  void reserve(layers::Backend& backend, std::size_t bytes) {
    if (bytes <= memory_.bytes()) return;
    memory_ = layers::Buffer();  // frees the old memory before the new is allocated
    memory_ = kind_ == Memory::host ? backend.allocate_host(bytes) : backend.allocate(bytes);
  }

  /// Divides the memory into `count` free buffers of `bytes` each. Allocates if there is too
  /// little.
  void divide(layers::Backend& backend, int count, std::size_t bytes) {
    bytes_ = layers::aligned(bytes);
    reserve(backend, bytes_ * count);
    taken_.assign(count, false);
  }

  /// Returns the index of a free buffer, or -1.
  int take() {
    for (std::size_t i = 0; i < taken_.size(); ++i)
      if (!taken_[i]) {
        taken_[i] = true;
        return static_cast<int>(i);
      }
    return -1;
  }
  void give_back(int buffer) { taken_[buffer] = false; }

  /// Bytes of the whole memory, over all buffers.
  std::size_t bytes() const { return memory_.bytes(); }

  std::byte* operator[](int buffer) const { return memory_.data() + bytes_ * buffer; }

 private:
  Memory kind_;
  layers::Buffer memory_;
  std::size_t bytes_ = 0;
  std::vector<bool> taken_;
};

}  // namespace penstock::runtime
