#pragma once

#include <filesystem>
#include <string>

#include "comm/communicator.h"

namespace penstock::runtime {

/// Whether a rank will write to the output folder, and what it must find there.
struct OutputShare {
  std::filesystem::path output;
  std::string token;    // of rank 0's OutputLock; elsewhere empty
  bool writes = false;  // this rank
};

/// CheckpointError on every rank if a rank that will write does not see the folder that rank 0 has
/// locked, or can't write there; names each such rank. All ranks call it.
void check_shared_output(comm::Communicator& world, const OutputShare& share);

}  // namespace penstock::runtime
