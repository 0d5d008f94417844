#pragma once

#include <vector>

#include "comm/communicator.h"
#include "runtime/profiling/links/link_end.h"

namespace penstock::runtime {

/// Returns the overlap of computing and sending, 0 to 1, for both ways of each link in the order of
/// link_speeds(): the share of a message's time in which the sender can compute while the receiver
/// waits for the message. It is (computing alone + message alone − both at once) / message alone,
/// of medians over several rounds, with messages as large as those of link_speeds(). Every rank of
/// `ranks` calls it, and gets the same.
[[nodiscard]] std::vector<double> link_overlaps(comm::Communicator& ranks, const RankPairs& links,
                                                const OpenLink& open,
                                                const std::vector<int>& nodes = {});

}  // namespace penstock::runtime
