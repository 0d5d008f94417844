#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "layers/backend.h"
#include "runtime/checkpoint/shard.h"

namespace penstock::runtime {

/// Returns the size of the pieces' data in bytes.
[[nodiscard]] std::size_t bytes_of(std::span<const CheckpointPiece> pieces);

/// A copy, in the host's memory, of the pieces that a rank contributes to a checkpoint. It can be
/// written while training changes the originals. The memory is allocated once.
class StateCopy {
 public:
  /// `pieces` lie in the backend's memory, which must outlive the copy. DeviceError if the host
  /// lacks the memory.
  StateCopy(layers::Backend& backend, layers::Stream& stream, std::vector<CheckpointPiece> pieces);

  /// Copies the data as it is after the work that is enqueued on the stream, and waits. The
  /// returned pieces point into the copy and are valid until the next call.
  std::vector<CheckpointPiece> take();

 private:
  layers::Backend& backend_;
  layers::Stream& stream_;
  std::vector<CheckpointPiece> pieces_;
  layers::Buffer memory_;
};

}  // namespace penstock::runtime
