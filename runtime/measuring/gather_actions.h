#pragma once

#include <vector>

#include "comm/communicator.h"
#include "runtime/measuring/rehearsal.h"

namespace penstock {

/// Every rank's steps, [rank][step], on rank 0; elsewhere nothing. Layers' times stay behind.
/// Every rank calls it.
std::vector<std::vector<RehearsedStep>> gather_actions(Communicator& world,
                                                       const std::vector<RehearsedStep>& own);

}  // namespace penstock
