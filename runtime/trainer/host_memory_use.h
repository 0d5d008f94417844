#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace penstock::runtime {

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
