#pragma once

#include <vector>

#include "comm/communicator.h"
#include "comm/link_end.h"

namespace penstock::comm {

/// One way from a rank to another.
struct LinkSpeed {
  int from = 0, to = 0;
  double latency_s = 0;    // of a message of 8 bytes: half of a round trip
  double bytes_per_s = 0;  // of messages of kLinkMessage bytes, several under way
};

/// Both ways of each link (a, b): a to b, then b to a. One way of a link is busy at a time, and one
/// link of a node, where rank r is on nodes[r] (link_rounds.h). Medians of several rounds, fewer
/// and of fewer messages where these are slow, so that a way takes a few seconds unless one message
/// does. Every rank of `ranks` calls it, and gets all.
[[nodiscard]] std::vector<LinkSpeed> link_speeds(Communicator& ranks, const RankPairs& links,
                                                 const OpenLink& open,
                                                 const std::vector<int>& nodes = {});

}  // namespace penstock::comm
