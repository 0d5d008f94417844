#pragma once

#include <memory>
#include <span>
#include <vector>

#include "layers/backend.h"
#include "runtime/pipeline/buffer_ring.h"

namespace penstock::runtime {

/// What a chunk's micro-batches keep for backward, on its way to the host's memory and back. Two
/// streams of its own copy it beside computing, one in each direction.
class HostSlots {
 public:
  /// `backend` must outlive it.
  explicit HostSlots(layers::Backend& backend) : backend_(backend) {}

  /// Copies a slot to a buffer of the host, once `computing` has done what it is asked for by now.
  /// Behind the event the slot may change.
  std::unique_ptr<layers::Event> copy_out(layers::Stream& computing, int buffer,
                                          std::span<const std::byte> slot);
  /// Copies it back to a slot, number `number`, once that is no longer read. Behind the event it is
  /// there, and the buffer is free.
  std::unique_ptr<layers::Event> copy_in(int buffer, std::span<std::byte> slot, int number);
  /// What `computing` is asked for by now is the last that reads the slot.
  void release(layers::Stream& computing, int number);

  BufferRing buffers{BufferRing::Memory::host};

 private:
  layers::Backend& backend_;
  std::unique_ptr<layers::Stream> out_, in_;              // made with the first micro-batch
  std::vector<std::unique_ptr<layers::Event>> released_;  // by slot; null where none waits for it
};

}  // namespace penstock::runtime
