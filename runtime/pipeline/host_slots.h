#pragma once

#include <memory>
#include <span>
#include <vector>

#include "layers/backend.h"
#include "runtime/pipeline/buffer_ring.h"

namespace penstock::runtime {

/// Copies the slots of a chunk's micro-batches to the host's memory and back (activation offload).
/// Two streams of its own, one per direction, copy while the device computes.
class HostSlots {
 public:
  /// `backend` must outlive it.
  explicit HostSlots(layers::Backend& backend) : backend_(backend) {}

  /// Copies a slot to a host buffer after the work that is enqueued on `computing` by now. The slot
  /// may change when the event is complete.
  std::unique_ptr<layers::Event> copy_out(layers::Stream& computing, int buffer,
                                          std::span<const std::byte> slot);
  /// Copies a host buffer back to slot `number` after the last reader of that slot is done. When
  /// the event is complete, the slot is valid and the buffer is free.
  std::unique_ptr<layers::Event> copy_in(int buffer, std::span<std::byte> slot, int number);
  /// Declares the work that is enqueued on `computing` by now to be the slot's last reader.
  void release(layers::Stream& computing, int number);

  BufferRing buffers{BufferRing::Memory::host};

 private:
  layers::Backend& backend_;
  std::unique_ptr<layers::Stream> out_, in_;  // created with the first copy
  /// Last reader of each slot; null if none was recorded.
  std::vector<std::unique_ptr<layers::Event>> released_;
};

}  // namespace penstock::runtime
