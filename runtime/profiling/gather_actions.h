#pragma once

#include <vector>

#include "comm/communicator.h"
#include "runtime/profiling/profiling_run.h"

namespace penstock::runtime {

/// Gathers the steps of every rank on rank 0, as [rank][step]; other ranks get nothing. The times
/// of layers are not gathered. All ranks call this together.
std::vector<std::vector<ProfiledStep>> gather_actions(comm::Communicator& world,
                                                      const std::vector<ProfiledStep>& own);

}  // namespace penstock::runtime
