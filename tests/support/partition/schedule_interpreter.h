#pragma once

#include <random>
#include <string>

#include "partition/schedule/schedule.h"

namespace penstock::test {

/// Runs lists as they stand with numbers in place of tensors, sends that block until their receive
/// is posted, and ranks in random turn; knows nothing of the validator. Returns why the run is not
/// a training step (a hang, a missing or wrong number, something left over), or "".
std::string run_schedule(const partition::Schedule& schedule, std::mt19937& random);

}  // namespace penstock::test
