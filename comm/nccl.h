#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "comm/communicator.h"

namespace penstock {

struct NcclOptions {
  int device = 0;               // of this rank
  double timeout_seconds = 60;  // to connect
};

/// Ranks that send device memory to each other: every span is of the device's memory, and what it
/// holds must be whole when it is sent. Messages of two ranks in one direction are matched in the
/// order in which they are posted, whatever their channels: every edge has a communicator of its
/// own. A peer that died shows as CommError in done() and progress(), not as a hang.
class NcclCommunicator : public Communicator {
 public:
  /// values = the sum over the ranks, in NCCL's order: equal on all ranks, and from run to run on
  /// the same machines, but not equal to lane_reduction.h's.
  virtual std::unique_ptr<Transfer> all_reduce(std::span<float> values) = 0;
};

/// Connects the ranks of `meeting`, over which they exchange NCCL's id: every one of them calls
/// this. `meeting` must outlive it; abort() ends `meeting`. CommError where they don't connect in
/// time, DeviceError where this build has no NCCL.
std::unique_ptr<NcclCommunicator> make_nccl(Communicator& meeting, const NcclOptions& options);

}  // namespace penstock
