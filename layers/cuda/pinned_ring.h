#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

#include "layers/tensor/cuda/handles.h"

namespace penstock::layers::cuda {

/// Pinned memory from which a stream copies, in parts that take turns: a part is written again when
/// the stream has passed what was last copied from it, so that whoever copies waits only where the
/// stream is three parts behind.
class PinnedRing {
 public:
  /// How the ring waits for an event: the stream may stand behind a message that never comes.
  using Wait = std::function<void(cudaEvent_t)>;

  explicit PinnedRing(Wait wait) : wait_(std::move(wait)) {}

  /// Some free memory, at most `bytes` of it, for a copy that is the next thing asked of `stream`,
  /// which is always the same.
  std::span<std::byte> take(cudaStream_t stream, std::size_t bytes);

 private:
  static constexpr std::size_t kPartBytes = std::size_t{4} << 20, kParts = 4;

  void turn(cudaStream_t stream);

  Wait wait_;
  Buffer memory_;                         // allocated when first needed
  std::array<EventHandle, kParts> left_;  // when a part's last turn ended; null before
  std::size_t part_ = 0, used_ = 0;
};

}  // namespace penstock::layers::cuda
