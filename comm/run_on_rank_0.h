#pragma once

#include <functional>

#include "comm/communicator.h"

namespace penstock::comm {

/// Runs `work` on rank 0 alone. All ranks call it together, and all raise a ConfigError, DataError
/// or CheckpointError that `work` raises. Any other error is raised on rank 0 alone; the other
/// ranks learn of it when rank 0 ends the job.
void run_on_rank_0(Communicator& world, const std::function<void()>& work);

}  // namespace penstock::comm
