#pragma once

#include <vector>

#include "comm/communicator.h"
#include "runtime/profiling/links/link_end.h"

namespace penstock::runtime {

// These functions measure how fast links are, and how far computing overlaps with sending.

/// Speed of a link in one direction.
struct LinkSpeed {
  int from = 0, to = 0;
  double latency_s = 0;    // half of a round trip of 8 bytes
  double bytes_per_s = 0;  // messages of kLinkMessage bytes, several in flight
};

/// Measures both ways of each link (a, b): a to b, then b to a. One way of a link is busy at a
/// time, and one link of a node, where rank r is on nodes[r] (link_rounds()). Results are medians
/// of several rounds. Slow links get fewer rounds and messages, so that a way takes a few seconds
/// unless a single message takes longer. Every rank of `ranks` calls it, and gets all results.
[[nodiscard]] std::vector<LinkSpeed> link_speeds(comm::Communicator& ranks, const RankPairs& links,
                                                 const OpenLink& open,
                                                 const std::vector<int>& nodes = {});

/// Returns the overlap of computing and sending, 0 to 1, for both ways of each link in the order of
/// link_speeds(): the share of a message's time in which the sender can compute while the receiver
/// waits for the message. It is (computing alone + message alone − both at once) / message alone,
/// of medians over several rounds, with messages as large as those of link_speeds(). Every rank of
/// `ranks` calls it, and gets the same.
[[nodiscard]] std::vector<double> link_overlaps(comm::Communicator& ranks, const RankPairs& links,
                                                const OpenLink& open,
                                                const std::vector<int>& nodes = {});

}  // namespace penstock::runtime
