#pragma once

#include <vector>

#include "comm/communicator.h"
#include "runtime/profiling/profiling_run.h"

namespace penstock::runtime {

/// Every rank's steps, [rank][step], on rank 0; elsewhere nothing. Layers' times stay behind.
/// Every rank calls it.
std::vector<std::vector<ProfiledStep>> gather_actions(comm::Communicator& world,
                                                      const std::vector<ProfiledStep>& own);

}  // namespace penstock::runtime
