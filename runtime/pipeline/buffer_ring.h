#pragma once

#include <cstddef>
#include <vector>

#include "layers/backend.h"

namespace penstock {

/// A fixed number of equal buffers of a device, taken and given back.
class BufferRing {
 public:
  /// Makes room for `count` buffers of `bytes` each; keeps what is there if it is enough. All must
  /// have been given back.
  void reserve(Backend& backend, int count, std::size_t bytes) {
    if (count <= static_cast<int>(taken_.size()) && bytes <= bytes_) return;
    bytes_ = aligned(bytes > bytes_ ? bytes : bytes_);
    taken_.assign(count > static_cast<int>(taken_.size()) ? count : taken_.size(), false);
    memory_ = Buffer();  // given back before more is asked for
    memory_ = backend.allocate(bytes_ * taken_.size());
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

  std::byte* operator[](int buffer) const { return memory_.data() + bytes_ * buffer; }

 private:
  Buffer memory_;
  std::size_t bytes_ = 0;
  std::vector<bool> taken_;
};

}  // namespace penstock
