#pragma once

#include <vector>

#include "comm/communicator.h"
#include "comm/link_end.h"

namespace penstock::comm {

/// Of both ways of each link, as link_speeds(): the share, 0 to 1, of a message's time that the
/// sender computes meanwhile, while the receiver waits for it: (computing alone + message alone −
/// both at once) / message alone, medians of several rounds, messages as large as link_speeds().
/// Every rank of `ranks` calls it, and gets the same.
[[nodiscard]] std::vector<double> link_overlaps(Communicator& ranks, const RankPairs& links,
                                                const OpenLink& open,
                                                const std::vector<int>& nodes = {});

}  // namespace penstock::comm
