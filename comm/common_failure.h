#pragma once

#include <chrono>

#include "comm/communicator.h"

namespace penstock::comm {

/// Whether every rank fails with this code, and each of them knows it. A rank that fails calls it
/// instead of abort(); it waits for the others at most so long, and then answers false. Where one
/// rank is told true, so are all that still wait.
[[nodiscard]] bool all_ranks_fail(Communicator& world, int code,
                                  std::chrono::milliseconds patience);

}  // namespace penstock::comm
