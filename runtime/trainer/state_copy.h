#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "layers/backend.h"
#include "runtime/checkpoint/shard.h"

namespace penstock::runtime {

/// Bytes of the numbers of pieces.
[[nodiscard]] std::size_t bytes_of(std::span<const CheckpointPiece> pieces);

/// What a rank adds to a checkpoint, copied to the host's memory, so that it can be written while
/// training changes it. The memory is taken once.
class StateCopy {
 public:
  /// `pieces` lie in the backend's memory, which must outlive the copy. DeviceError if the host has
  /// not as much memory.
  StateCopy(layers::Backend& backend, layers::Stream& stream, std::vector<CheckpointPiece> pieces);

  /// Copies the numbers as they are once the stream has done what it was asked for. The pieces that
  /// it returns refer to the copy, which holds until the next call.
  std::vector<CheckpointPiece> take();

 private:
  layers::Backend& backend_;
  layers::Stream& stream_;
  std::vector<CheckpointPiece> pieces_;
  layers::Buffer memory_;
};

}  // namespace penstock::runtime
