#pragma once

#include "comm/communicator.h"

namespace penstock::comm {

/// The share, 0 to 1, of a message's time that rank `from` computes meanwhile, while rank `to`
/// waits for it: (computing alone + message alone − both at once) / message alone, medians of
/// several rounds, messages as large as link_speeds(), where the sender lets messages progress
/// about every tenth of a millisecond, as a stage that computes does. Every rank calls it, and gets
/// the same.
[[nodiscard]] double link_overlap(Communicator& ranks, int from, int to);

}  // namespace penstock::comm
