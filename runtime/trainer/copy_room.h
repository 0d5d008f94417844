#pragma once

#include <string>
#include <vector>

#include "comm/communicator.h"

namespace penstock::runtime {

/// What a rank takes of its machine's memory, in bytes.
struct CopyRoom {
  std::string machine;
  double machine_bytes = 0;  // that the machine has
  double planned = 0;        // without a copy of its state
  double limit = 0;          // of planned and copy; 0: none
  double copy = 0;           // of what it saves
};

/// Why copies of the state have no room on all ranks, or nothing.
[[nodiscard]] std::string lack_of_room(const std::vector<CopyRoom>& ranks);

/// The same of all ranks, which call it together and get the same.
[[nodiscard]] std::string lack_of_room(comm::Communicator& world, const CopyRoom& own);

}  // namespace penstock::runtime
