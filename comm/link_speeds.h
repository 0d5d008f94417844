#pragma once

#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace penstock::comm {

/// One way from a rank to its neighbour in the pipeline.
struct LinkSpeed {
  int from = 0, to = 0;
  double latency_s = 0;    // of a message of 8 bytes: half of a round trip
  double bytes_per_s = 0;  // of messages of kLinkMessage bytes, several under way
};

/// The size of an activation, as large as models of today have them.
inline constexpr std::size_t kLinkMessage = std::size_t{4} << 20;

/// Both ways between every rank and the next, in this order: 0 to 1, 1 to 0, 1 to 2, … One pair is
/// busy at a time. Medians of several rounds, fewer and of fewer messages where these are slow, so
/// that a link takes a few seconds unless one message does. Every rank calls it, and gets all.
[[nodiscard]] std::vector<LinkSpeed> link_speeds(Communicator& ranks);

/// The same of these pairs (from, to), one after the other.
using RankPairs = std::vector<std::pair<int, int>>;
[[nodiscard]] std::vector<LinkSpeed> link_speeds(Communicator& ranks, const RankPairs& pairs);

/// Every rank to every other: (0, 1), (0, 2), …, (1, 0), …
[[nodiscard]] RankPairs every_pair(int ranks);

}  // namespace penstock::comm
