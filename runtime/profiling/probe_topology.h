#pragma once

#include <vector>

#include "comm/communicator.h"
#include "partition/planner/cluster/cluster.h"
#include "partition/planner/cost/cost.h"
#include "runtime/devices/device.h"
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

struct ProbedTopology {
  partition::Cluster cluster;
  DeviceLinks links = DeviceLinks::host;  // kind of link that was measured
};

/// Describes the machines of a job as a cluster: one device per rank, one node per host, ranks in
/// order within a node. Memory is the free memory of a CUDA device, else an equal part of the
/// host's; speeds are 1. Latency and bandwidth are measured on the links that a job's messages take
/// (job_links.h), for sampled_links(), one pair per node at a time. The overlap is the median over
/// neighbouring ranks. All ranks call this together and get the same result.
ProbedTopology probe_topology(comm::Communicator& world);

}  // namespace penstock::runtime
