#pragma once

#include <chrono>

#include "comm/communicator.h"

namespace penstock::comm {

/// Returns true if every rank fails with this code and each of them knows it. A rank that fails
/// calls it instead of abort(). It waits for the others for at most `patience`, and then returns
/// false. If it returns true on one rank, it does so on all that still wait.
[[nodiscard]] bool all_ranks_fail(Communicator& world, int code,
                                  std::chrono::milliseconds patience);

}  // namespace penstock::comm
