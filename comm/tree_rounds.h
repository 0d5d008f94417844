#pragma once

#include <vector>

namespace penstock::comm {

/// A lane of a replica, counted from the replica's first.
struct ReplicaLane {
  int replica = 0, lane = 0;
  bool operator==(const ReplicaLane&) const = default;
};

/// Pieces of a bucket that go from a lane to another: a message, where their replicas differ.
struct TreeTransfer {
  ReplicaLane from, to;
  std::vector<int> places;  // of the pieces in the bucket, ascending
};

/// Transfers of a round need those of the rounds before it, and none of the same round. Two
/// replicas have those between them in the same order.
using TreeRounds = std::vector<std::vector<TreeTransfer>>;

/// What `replica` has to do with the sums of a bucket over all lanes. Replica r holds lanes_of[r]
/// lanes, which follow those of replica r − 1, and gets the sums of a piece of its own, in its
/// first lane. In each transfer lane `to` becomes its sum with lane `from`, for these pieces.
///
/// The order of additions is a binary tree that follows from the number of lanes alone: of n lanes
/// the first 2^k are added, then the others, and then the two sums, 2^k being the largest power of
/// two below n. So neighbours are added first, and where those share a node, whole nodes are
/// summed before anything leaves them. For R = 2^k replicas of as many lanes each this is recursive
/// halving, nearest replicas first: log2 R rounds of a message each way. A replica sends
/// (R − 1) / R of a bucket, and more only where subtrees have lanes of several replicas.
///
/// Pieces lie in a bucket in the order of bit_reversed(): what goes together lies together.
[[nodiscard]] TreeRounds sum_rounds(const std::vector<int>& lanes_of, int replica);

/// What `replica` has to do so that each replica's piece comes to all others: the rounds of
/// sum_rounds() backwards, of one lane each. Every replica gets every piece once.
[[nodiscard]] TreeRounds gather_rounds(int replicas, int replica);

/// The replicas with which this one exchanges messages of these rounds, ascending.
[[nodiscard]] std::vector<int> tree_peers(const std::vector<int>& lanes_of, int replica);

}  // namespace penstock::comm
