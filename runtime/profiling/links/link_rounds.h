#pragma once

#include <vector>

#include "runtime/profiling/links/link_end.h"

namespace penstock::runtime {

/// Groups pairs into rounds of pairs that are measured at the same time. Rank r is on nodes[r]; if
/// `nodes` is empty, all ranks are on one node. No node has two pairs in a round, since they would
/// share its memory or its network adapter. Each pair, in the order given, goes into the first
/// round in which both of its nodes are free. So there are at most 2 m - 1 rounds if no node has
/// more than m pairs, and the pairs within one node keep their order.
[[nodiscard]] std::vector<RankPairs> link_rounds(const RankPairs& pairs,
                                                 const std::vector<int>& nodes = {});

}  // namespace penstock::runtime
