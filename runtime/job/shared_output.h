#pragma once

#include <filesystem>
#include <string>

#include "comm/communicator.h"

namespace penstock::runtime {

/// A rank's use of the output folder.
struct OutputShare {
  std::filesystem::path output;
  std::string token;    // token of rank 0's OutputLock; empty on other ranks
  bool writes = false;  // true if this rank will write
};

/// Checks that all ranks that will write see the folder that rank 0 has locked and can write there.
/// Otherwise throws CheckpointError on every rank, which names each rank that fails. All ranks call
/// it.
void check_shared_output(comm::Communicator& world, const OutputShare& share);

}  // namespace penstock::runtime
