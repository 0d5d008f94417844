#pragma once

#include "comm/communicator.h"

namespace penstock::comm {

/// Seconds that this rank's std::chrono::steady_clock is ahead of rank 0's: of several pings, the
/// fastest, whose answer is taken to be from its middle (Cristian 1989), so that the error is at
/// most half of its round trip. 0 on rank 0. Every rank calls it.
[[nodiscard]] double clock_offset(Communicator& ranks);

}  // namespace penstock::comm
