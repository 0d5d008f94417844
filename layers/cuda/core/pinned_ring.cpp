#include "layers/cuda/core/pinned_ring.h"

#include <algorithm>

#include "layers/tensor/cuda/handles.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers::cuda {

// A part is left only at the next take(), when the copy out of its last piece has been enqueued.
std::span<std::byte> PinnedRing::take(cudaStream_t stream, std::size_t bytes) {
  if (memory_.data() == nullptr) memory_ = pinned_buffer(kParts * kPartBytes);
  if (used_ >= kPartBytes) advance(stream);
  std::byte* const first = memory_.data() + part_ * kPartBytes + used_;
  const std::size_t granted = std::min(bytes, kPartBytes - used_);
  used_ += aligned(granted);
  return {first, granted};
}

// An event marks the end of all copies from the part that is left. The part that is entered has
// such an event from its last turn, which ended kParts - 1 parts ago and has usually passed.
void PinnedRing::advance(cudaStream_t stream) {
  if (left_[part_] == nullptr) left_[part_] = make_event_handle();
  check(cudaEventRecord(left_[part_].get(), stream), "marking the end of pinned memory's turn");
  part_ = (part_ + 1) % kParts;
  used_ = 0;
  if (left_[part_] != nullptr) wait_(left_[part_].get());
}

}  // namespace penstock::layers::cuda
