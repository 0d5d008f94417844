#pragma once

#include <vector>

#include "comm/link_speeds.h"
#include "partition/cost/cost.h"

namespace penstock::runtime {

/// Ranks of a job, and of a node, up to which every pair is measured.
inline constexpr int kRanksOfEveryPair = 8;

/// The pairs of ranks that are measured, where rank r is on nodes[r]. Every pair of a small job. In
/// a larger one links form classes, of each node and of each two nodes, and some of a class stand
/// for all:
/// - in a node of more than kRanksOfEveryPair ranks each one with the next, around, and with the
///   one half of the node further on; in a smaller node every pair;
/// - between two nodes two pairs, of other ranks for other nodes.
/// With link_rounds() of the same nodes that is O(ranks) rounds.
[[nodiscard]] comm::RankPairs sampled_links(const std::vector<int>& nodes);

/// Rates of every pair, [from · ranks + to], where `measured` are both ways of sampled_links(). A
/// way between two nodes of which not every pair was measured has the medians of those that were,
/// for each of its pairs.
[[nodiscard]] std::vector<partition::LinkRates> rates_of_pairs(
    const std::vector<comm::LinkSpeed>& measured, const std::vector<int>& nodes);

}  // namespace penstock::runtime
