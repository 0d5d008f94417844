#pragma once

#include <vector>

#include "base/time_limit.h"
#include "partition/placement/bound/priced_path.h"

namespace penstock::partition {

/// What no placement with so many replicas can beat, whatever its number of stages: by prices on
/// devices, a Lagrangian relaxation (Geoffrion 1974) of how many there are of each kind.
///
/// Let B_k devices be of kind k, and w_k >= 0 be their prices. R replicas together use at most B_k
/// of each, so that the one whose devices cost least pays at most sum_k w_k B_k / R. Its way is one
/// of PricedPaths. So no pipeline keeps all loads within a limit for which the cheapest path costs
/// more; and its sum of loads is at least the least sum of loads and prices, less that much. Prices
/// that say most follow what paths use too much of; any of them make a valid bound.
class PricedBound {
 public:
  /// `problem` must outlive it. `effort`: steps of paths that may be spent.
  PricedBound(const PlacementProblem& problem, int replicas, double effort,
              const TimeLimit* time = nullptr);

  /// At most `value`, which says that no solution is below that. 0 where prices say nothing, as of
  /// one kind of device, or would take too long.
  double below(double value);

  /// Whether no pipeline keeps all loads within `limit` seconds, as far as prices tell.
  bool excludes(double limit);
  /// What no sum of loads within `limit` is below; infinite where excludes() has it so at once.
  double least_sum(double limit);

  double effort_left() const { return effort_left_; }
  void may_take(double effort) { effort_left_ = effort; }

 private:
  PricedPaths paths(double limit) const;
  std::vector<double> parts(const PricedPath& path) const;
  void follow(const std::vector<double>& used, double more);
  double least_slowest(double low, double high);

  const PlacementProblem& problem_;
  int replicas_, runs_;
  const TimeLimit* time_;
  DeviceKinds kinds_;
  std::vector<NodeType> types_;
  std::vector<double> shares_;  // of each kind: devices for a replica, on average
  // The last ones, to begin with: of whole shares, against limits, and of devices, for sums.
  std::vector<double> share_prices_, sum_prices_;
  double effort_left_;
};

}  // namespace penstock::partition
