#pragma once

#include <vector>

#include "comm/link_end.h"

namespace penstock::comm {

/// Pairs that are measured at once. Rank r is on nodes[r]; without nodes all ranks are on one. No
/// node has two pairs in a round, since these would share its memory or its adapter. Each pair, in
/// the order given, goes into the first round with room for both of its nodes. So there are at
/// most 2 m - 1 rounds where no node has more than m pairs, and the pairs of one node alone keep
/// their order.
[[nodiscard]] std::vector<RankPairs> link_rounds(const RankPairs& pairs,
                                                 const std::vector<int>& nodes = {});

}  // namespace penstock::comm
