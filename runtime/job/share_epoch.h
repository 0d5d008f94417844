#pragma once

#include "comm/communicator.h"
#include "runtime/data/steps.h"

namespace penstock::runtime {

/// Forms the start's epoch on rank 0 and gives it to the others: of millions of utterances that
/// takes a core seconds, which ranks of a machine would take from each other. All ranks call it,
/// with the same options.
void share_first_epoch(comm::Communicator& world, StepSequence& steps);

}  // namespace penstock::runtime
