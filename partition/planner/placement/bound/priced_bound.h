#pragma once

#include <map>
#include <vector>

#include "base/time_limit.h"
#include "partition/planner/placement/bound/priced_path.h"

namespace penstock::partition {

/// A lower bound on the value of placements with so many replicas and any number of stages. It is a
/// Lagrangian relaxation (Geoffrion 1974) of the numbers of devices of each kind.
///
/// Let there be B_k devices of kind k, at prices w_k >= 0. R replicas together use at most B_k of
/// each. So the replica with the cheapest devices pays at most P = sum_k w_k B_k / R. Its pipeline
/// is one of PricedPaths. Two statements follow:
/// - if the cheapest path within a limit on loads costs more than P, no pipeline keeps within it;
/// - a sum of loads is at least the least sum of loads and prices over all paths, less P.
/// Any prices give a valid bound. With one kind of device, they say whether the path with the
/// fewest stages takes more devices than there are. Good ones are found by a subgradient method:
/// prices rise for kinds that the cheapest path uses too much of.
class PricedBound {
 public:
  /// `problem` must outlive this object. `effort` is the number of steps of paths that it may take.
  PricedBound(const PlacementProblem& problem, int replicas, double effort,
              const TimeLimit* time = nullptr);

  /// Returns a lower bound on the value, at most `value`: then no solution is below that. It is
  /// weaker, down to 0, if prices would take too long.
  double below(double value);

  /// Returns true if prices prove that no pipeline keeps all loads within `limit` seconds.
  bool excludes(double limit);
  /// Returns a lower bound on the sum of loads that are all within `limit`; infinite if there is no
  /// path within it.
  double min_sum(double limit);

  double effort_left() const { return effort_left_; }
  void may_take(double effort) { effort_left_ = effort; }

 private:
  PricedPaths paths(double limit) const;
  std::vector<double> parts(const PricedPath& path) const;
  void follow(const std::vector<double>& used, double more);
  double min_slowest(double low, double high);

  const PlacementProblem& problem_;
  int replicas_, runs_;
  const TimeLimit* time_;
  DeviceKinds kinds_;
  std::vector<NodeType> types_;
  std::vector<double> shares_;  // [kind]: devices per replica, B_k / R
  // The last prices, from which the next call starts: of whole shares, for excludes(), and of
  // devices, for min_sum().
  std::vector<double> share_prices_, sum_prices_;
  double effort_left_;
};

/// The bounds of all numbers of replicas, which share the effort. Without them, the gap of a
/// placement on 64 mixed devices is 53 % instead of 6 %; the placement is the same. `problem` must
/// outlive this object.
class PricedBounds {
 public:
  explicit PricedBounds(const PlacementProblem& problem, const TimeLimit* time = nullptr)
      : problem_(problem), time_(time) {}

  /// Returns PricedBound::below() for so many replicas, or what an earlier call found.
  double below(int replicas, double value);

 private:
  /// The prices, the last value asked for, and the bound that was found.
  struct Known {
    PricedBound prices;
    double asked = 0, bound = 0;
  };

  const PlacementProblem& problem_;
  const TimeLimit* time_;
  std::map<int, Known> known_;  // keyed by replicas
  double effort_left_ = 4e9;    // steps of paths: a few seconds
};

}  // namespace penstock::partition
