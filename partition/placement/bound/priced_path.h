#pragma once

#include <vector>

#include "partition/placement/bound/node_kinds.h"

namespace penstock::partition {

/// A replica's way through nodes that costs least.
struct PricedPath {
  double cost = 0;        // infinite: there is none
  std::vector<int> used;  // devices of each kind
};

/// The ways of a replica through nodes with no load above a limit: each stage on a device of some
/// kind, stages in a row in one node as far as it has devices for them, the others crossing between
/// nodes. Nothing is counted but the devices of the node at hand: a node may be met again.
class PricedPaths {
 public:
  /// `sequence` and `types` must outlive it.
  PricedPaths(const SequenceLoad& sequence, const std::vector<NodeType>& types, int micro_batches,
              double limit);

  /// A stage costs the price of its kind and, with `counts_loads`, its load.
  PricedPath cheapest(const std::vector<double>& prices, bool counts_loads);

  /// Steps that cheapest() takes, about.
  double effort() const { return effort_; }

 private:
  /// A stage's layers and loads, infinite where above the limit: entering from another node or from
  /// inside, leaving likewise.
  struct Segment {
    int last = 0;
    double alone, begins, ends, inside;
  };
  /// On devices of one kind in nodes of one type, with all layers that they may have.
  struct Group {
    std::size_t type = 0, stage = 0;
    std::vector<Segment> segments = {};    // by first layer
    std::vector<std::size_t> begins = {};  // [first layer]: its first segment
  };
  struct Place {
    int first = 0;
    std::size_t type = 0;
    int state = 0;  // of the node in front of the stage; 0: a run begins
  };

  int layers() const { return sequence_.size(); }
  const NodeStage& stage_of(const Group& group) const {
    return types_[group.type].stages[group.stage];
  }
  double& inside(std::size_t type, int first, int state) {
    return inside_[type][static_cast<std::size_t>(first) * types_[type].states + state];
  }
  void add_segments(const NodeType& type, const NodeStage& stage, int first,
                    std::vector<Segment>& segments) const;
  void put_first(int first, const Group& group, double price, bool counts_loads);
  Place behind(const Place& place, const std::vector<double>& prices, bool counts_loads,
               std::vector<int>& used);

  const SequenceLoad& sequence_;
  const std::vector<NodeType>& types_;
  int micro_batches_;
  double limit_, least_per_work_, effort_ = 0;
  std::vector<Group> groups_;
  std::vector<double> fresh_;                // [first layer]: a run begins there
  std::vector<std::vector<double>> inside_;  // [type][first layer · states + state]: it goes on
};

}  // namespace penstock::partition
