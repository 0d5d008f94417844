#pragma once

#include <cstdint>

#include "comm/communicator.h"
#include "runtime/data/steps.h"

namespace penstock::runtime {

/// Forms an epoch on rank 0 and gives it to the others, which have not formed it: of millions of
/// utterances that takes a core seconds, which ranks of a machine would take from each other. All
/// ranks call it, with the same options.
void share_epoch(comm::Communicator& world, StepSequence& steps, std::int64_t epoch);

}  // namespace penstock::runtime
