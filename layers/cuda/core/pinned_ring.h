#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

#include "layers/tensor/cuda/handles.h"

namespace penstock::layers::cuda {

/// A ring of four parts of pinned memory from which a stream copies to the device. A part is reused
/// once the stream has passed the last copy from it. So a caller waits only if the stream lags by
/// three parts.
class PinnedRing {
 public:
  /// Waits for an event. The owner supplies it, because the stream may be waiting for a message
  /// that never comes.
  using Wait = std::function<void(cudaEvent_t)>;

  explicit PinnedRing(Wait wait) : wait_(std::move(wait)) {}

  /// Returns at most `bytes` of free memory, for a copy that the caller must enqueue next on
  /// `stream`. The stream must be the same in every call.
  std::span<std::byte> take(cudaStream_t stream, std::size_t bytes);

 private:
  static constexpr std::size_t kPartBytes = std::size_t{4} << 20, kParts = 4;

  void advance(cudaStream_t stream);

  Wait wait_;
  Buffer memory_;                         // allocated when first needed
  std::array<EventHandle, kParts> left_;  // recorded when a part was last full; null before
  std::size_t part_ = 0, used_ = 0;
};

}  // namespace penstock::layers::cuda
