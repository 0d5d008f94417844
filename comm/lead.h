#pragma once

#include <functional>

#include "comm/communicator.h"

namespace penstock::comm {

/// Does `work` on rank 0 alone. A ConfigError, DataError or CheckpointError of it is raised on all
/// ranks, which call this together; of another error the others learn when rank 0 ends the job.
void lead(Communicator& world, const std::function<void()>& work);

}  // namespace penstock::comm
