#pragma once

#include <vector>

namespace penstock::comm {

/// A lane of a replica, counted from that replica's first lane.
struct ReplicaLane {
  int replica = 0, lane = 0;
  bool operator==(const ReplicaLane&) const = default;
};

/// Pieces of a bucket that move from one lane to another. It is a message if the replicas differ.
struct TreeTransfer {
  ReplicaLane from, to;
  std::vector<int> places;  // places of the pieces in the bucket, ascending
};

/// Transfers by round. Those of a round depend on earlier rounds, and not on each other. Two
/// replicas list the transfers between them in the same order.
using TreeRounds = std::vector<std::vector<TreeTransfer>>;

/// Returns the transfers of `replica` that sum a bucket over all lanes. Replica r holds lanes_of[r]
/// lanes, numbered after those of replica r − 1. It ends with the sums of its own piece, in its
/// first lane. In each transfer lane `to` becomes its sum with lane `from`, for these pieces.
///
/// The order of additions is a binary tree that depends on the number of lanes alone. Of n lanes,
/// the first 2^k are added, then the others, and then the two sums; 2^k is the largest power of two
/// below n. So neighbours are added first, and if neighbours share a node, whole nodes are summed
/// before anything leaves them. For R = 2^k replicas with equally many lanes this is recursive
/// halving, nearest replicas first: log2 R rounds of a message each way. A replica sends (R − 1) /
/// R of a bucket, and more only if subtrees have lanes of several replicas.
///
/// Pieces lie in a bucket in the order of bit_reversed(), so pieces that travel together are
/// adjacent.
[[nodiscard]] TreeRounds sum_rounds(const std::vector<int>& lanes_of, int replica);

/// Returns the transfers of `replica` that copy each replica's piece to all others: the rounds of
/// sum_rounds() backwards, with one lane each. Every replica gets every piece once.
[[nodiscard]] TreeRounds gather_rounds(int replicas, int replica);

/// Returns the replicas with which this one exchanges messages in these rounds, ascending.
[[nodiscard]] std::vector<int> tree_peers(const std::vector<int>& lanes_of, int replica);

}  // namespace penstock::comm
