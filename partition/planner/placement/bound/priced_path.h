#pragma once

#include <vector>

#include "partition/planner/placement/bound/node_kinds.h"

namespace penstock::partition {

/// The cheapest path of a replica through nodes.
struct PricedPath {
  double cost = 0;        // infinite: there is no path
  std::vector<int> used;  // [kind]: devices
};

/// The paths of a replica through nodes with no load above a limit. Each stage is on a device of
/// some kind. Consecutive stages share a node only as far as it has devices for them; else the
/// boundary crosses nodes. Only the devices of the current node are counted: a path may visit a
/// node again.
class PricedPaths {
 public:
  /// `sequence` and `types` must outlive this object.
  PricedPaths(const SequenceLoad& sequence, const std::vector<NodeType>& types, int micro_batches,
              double limit);

  /// Returns the cheapest path. A stage costs the price of its kind and, with `counts_loads`, its
  /// load.
  PricedPath cheapest(const std::vector<double>& prices, bool counts_loads);

  /// Approximate number of steps of cheapest().
  double effort() const { return effort_; }

 private:
  /// A stage's last layer and its loads, infinite above the limit: alone in its run, as the first,
  /// as the last, and in the middle of a run.
  struct Segment {
    int last = 0;
    double alone, begins, ends, inside;
  };
  /// All segments of one stage of one type of node.
  struct Group {
    std::size_t type = 0, stage = 0;
    std::vector<Segment> segments = {};    // sorted by first layer
    std::vector<std::size_t> begins = {};  // [first layer]: its first segment
  };
  /// A point of a path, from which the next stage starts.
  struct Place {
    int first = 0;
    std::size_t type = 0;
    int state = 0;  // of the node before the stage; 0: a run begins
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
  Place after(const Place& place, const std::vector<double>& prices, bool counts_loads,
              std::vector<int>& used);

  const SequenceLoad& sequence_;
  const std::vector<NodeType>& types_;
  int micro_batches_;
  double limit_, min_per_work_, effort_ = 0;
  std::vector<Group> groups_;
  std::vector<double> fresh_;  // [first layer]: least cost from there on, if a run begins
  std::vector<std::vector<double>> inside_;  // [type][first · states + state]: if a run goes on
};

}  // namespace penstock::partition
