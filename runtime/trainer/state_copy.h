#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
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

/// Memory that a rank uses on its machine, in bytes.
struct HostMemoryUse {
  std::string machine;
  double machine_bytes = 0;  // size of the machine's memory
  double planned = 0;        // planned use, without a copy of the state
  double limit = 0;          // limit of planned + copy; 0 if there is none
  double copy = 0;           // size of the copy of the rank's shard
};

/// Returns why copies of the state do not fit on all ranks. Returns an empty string if they fit.
[[nodiscard]] std::string memory_shortage(const std::vector<HostMemoryUse>& ranks);

/// The same over all ranks, which call this together and get the same result.
[[nodiscard]] std::string memory_shortage(comm::Communicator& world, const HostMemoryUse& own);

}  // namespace penstock::runtime
