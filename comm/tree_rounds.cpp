#include "comm/tree_rounds.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "base/bit_reversal.h"

// The tree of additions is fixed by the number of lanes. What differs from piece to piece is where
// each node's sum lies, because the sum at the root must end at the piece's owner.
// LaneTree::holder() decides that node by node, from the owner alone, so every replica computes the
// same answer without a message.
//
// Each inner node then costs one transfer, of the right sum to the left one or the other way round.
// A node of height h takes it in round h, when both sums are complete. All pieces that go from one
// lane to another in a round share the transfer, so a round costs a message for each pair of lanes
// and not for each piece.

namespace penstock::comm {
namespace {

/// A node of the tree: lanes [begin, end).
struct Subtree {
  int begin, end;

  int lanes() const { return end - begin; }
  int middle() const {
    return begin + static_cast<int>(std::bit_floor(static_cast<unsigned>(lanes() - 1)));
  }
  Subtree left() const { return {begin, middle()}; }
  Subtree right() const { return {middle(), end}; }
  int height() const { return std::bit_width(static_cast<unsigned>(lanes() - 1)); }
};

/// The tree of additions, and the replica that holds the sum of each node. Every piece has an
/// owner, in which the sum at the root ends. A sum of two nodes is computed where one of them lies,
/// so each addition moves at most one partial sum.
class LaneTree {
 public:
  explicit LaneTree(const std::vector<int>& lanes_of) {
    for (std::size_t r = 0; r < lanes_of.size(); ++r) {
      first_.push_back(static_cast<int>(replica_of_.size()));
      replica_of_.insert(replica_of_.end(), static_cast<std::size_t>(lanes_of[r]),
                         static_cast<int>(r));
    }
    first_.push_back(static_cast<int>(replica_of_.size()));
  }

  Subtree root() const { return {0, first_.back()}; }
  int replica_of(int lane) const { return replica_of_[static_cast<std::size_t>(lane)]; }
  bool has_lane_in(int replica, const Subtree& node) const {
    return first(replica) < node.end && first(replica + 1) > node.begin;
  }
  ReplicaLane lane(int lane) const { return {replica_of(lane), lane - first(replica_of(lane))}; }

  /// Returns the replica that holds a node's sum. It is the owner, if that has a lane in the node.
  /// Otherwise it is the replica of the lane that agrees with the owner's first lane in its lowest
  /// bits, which spreads the work of the owners evenly. If there is no such lane, it is the holder
  /// of the right part, which is shorter and has added less. The holder is always that of the left
  /// or of the right part, so one of the two sums stays in place.
  int holder(const Subtree& node, int owner) const {
    if (has_lane_in(owner, node)) return owner;
    const int period = static_cast<int>(std::bit_ceil(static_cast<unsigned>(node.lanes())));
    const int place = first(owner) % period;
    return place < node.lanes() ? replica_of(node.begin + place) : holder(node.right(), owner);
  }

  /// Returns the lane in whose memory the holder has the node's sum.
  int memory_of(Subtree node, int owner) const {
    while (node.lanes() > 1)
      node = holder(node.left(), owner) == holder(node, owner) ? node.left() : node.right();
    return node.begin;
  }

 private:
  int first(int replica) const { return first_[static_cast<std::size_t>(replica)]; }

  std::vector<int> first_;  // first lane of each replica, and the number of lanes
  std::vector<int> replica_of_;
};

/// Owners of the pieces that move, by round and then by the lanes (from, to).
using Transfers = std::vector<std::map<std::pair<int, int>, std::vector<int>>>;

/// Lists the transfers in which `replica` takes part for the piece of `owner`.
void list_transfers(const LaneTree& tree, const Subtree& node, int replica, int owner,
                    Transfers& transfers) {
  if (node.lanes() < 2 || !tree.has_lane_in(replica, node)) return;
  list_transfers(tree, node.left(), replica, owner, transfers);
  list_transfers(tree, node.right(), replica, owner, transfers);
  int from = tree.memory_of(node.right(), owner), to = tree.memory_of(node.left(), owner);
  if (tree.replica_of(to) != tree.holder(node, owner)) std::swap(from, to);
  if (tree.replica_of(from) == replica || tree.replica_of(to) == replica)
    transfers[static_cast<std::size_t>(node.height() - 1)][{from, to}].push_back(owner);
}

}  // namespace

TreeRounds sum_rounds(const std::vector<int>& lanes_of, int replica) {
  const LaneTree tree(lanes_of);
  const int replicas = static_cast<int>(lanes_of.size());
  Transfers transfers(static_cast<std::size_t>(tree.root().height()));
  for (const int owner : bit_reversed(replicas))
    list_transfers(tree, tree.root(), replica, owner, transfers);
  const std::vector<int> places = bit_reversed_places(replicas);
  TreeRounds rounds;
  for (const auto& round : transfers) {
    rounds.emplace_back();
    for (const auto& [lanes, owners] : round) {
      TreeTransfer transfer{tree.lane(lanes.first), tree.lane(lanes.second), {}};
      for (const int owner : owners)
        transfer.places.push_back(places[static_cast<std::size_t>(owner)]);
      rounds.back().push_back(std::move(transfer));
    }
  }
  return rounds;
}

TreeRounds gather_rounds(int replicas, int replica) {
  TreeRounds rounds = sum_rounds(std::vector(static_cast<std::size_t>(replicas), 1), replica);
  std::ranges::reverse(rounds);
  for (auto& round : rounds)
    for (TreeTransfer& transfer : round) std::swap(transfer.from, transfer.to);
  return rounds;
}

std::vector<int> tree_peers(const std::vector<int>& lanes_of, int replica) {
  std::set<int> peers;
  for (const TreeRounds& rounds :
       {sum_rounds(lanes_of, replica), gather_rounds(static_cast<int>(lanes_of.size()), replica)})
    for (const auto& round : rounds)
      for (const TreeTransfer& transfer : round)
        peers.insert({transfer.from.replica, transfer.to.replica});
  peers.erase(replica);
  return {peers.begin(), peers.end()};
}

}  // namespace penstock::comm
