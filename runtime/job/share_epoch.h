#pragma once

#include <cstdint>

#include "comm/communicator.h"
#include "runtime/data/batch/steps.h"

namespace penstock::runtime {

/// Builds an epoch on rank 0 and broadcasts it to the others, which must not have built it. For
/// millions of utterances, building takes seconds of a core, which the ranks of a machine would
/// take from each other. All ranks call it with the same options.
void share_epoch(comm::Communicator& world, StepSequence& steps, std::int64_t epoch);

}  // namespace penstock::runtime
