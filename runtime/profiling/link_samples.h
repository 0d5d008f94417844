#pragma once

#include <vector>

#include "partition/planner/cost/cost.h"
#include "runtime/profiling/links/link_speeds.h"

namespace penstock::runtime {

/// Number of ranks, in a job or on a node, up to which every pair is measured.
inline constexpr int kRanksOfEveryPair = 8;

/// Returns the pairs of ranks to measure; rank r is on nodes[r]. A small job measures every pair.
/// In a larger one links form classes, one per node and one per pair of nodes, and samples
/// represent a class:
/// - within a node of more than kRanksOfEveryPair ranks, each rank with the next one, cyclically,
///   and with the opposite one; in a smaller node every pair;
/// - between two nodes two pairs, of varying ranks.
/// With link_rounds() of the same nodes this takes O(ranks) rounds.
[[nodiscard]] RankPairs sampled_links(const std::vector<int>& nodes);

/// Returns the rates of every pair, at [from · ranks + to]. `measured` holds both directions of
/// sampled_links(). If not every pair of two nodes was measured, all their pairs get the medians of
/// the measured ones, per direction.
[[nodiscard]] std::vector<partition::LinkRates> rates_of_pairs(
    const std::vector<LinkSpeed>& measured, const std::vector<int>& nodes);

}  // namespace penstock::runtime
