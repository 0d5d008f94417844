#pragma once

#include <map>
#include <utility>
#include <vector>

#include "partition/planner/placement/bound/device_classes.h"
#include "partition/planner/placement/bound/priced_bound.h"

namespace penstock::partition {

/// Lower bounds on the value of a grid that count nodes and fast devices. Consecutive stages share
/// a node only as far as it has devices for them; the other boundaries cross nodes. `problem` must
/// outlive this object. Results are cached.
class RunBound {
 public:
  explicit RunBound(const PlacementProblem& problem, const TimeLimit* time = nullptr)
      : problem_(problem), time_(time), classes_(DeviceClasses::of_all_steps(problem)) {}

  /// Returns a lower bound, at most `value`: then no solution of the grid is below that. A lower
  /// `value` takes less time. When time is over, the bound may be weaker than it could be.
  double of(const Grid& grid, double value);
  /// The same by prices of devices (PricedBound), for any number of stages.
  double priced(int replicas, double value);

 private:
  /// A cached bound, and the value up to which it was computed.
  struct Cache {
    double asked = 0, bound = 0;
  };
  /// The prices and the bound of one number of replicas.
  struct Priced {
    PricedBound prices;
    Cache known = {};
  };

  double of(const Grid& grid, double value, std::size_t parting);
  bool can_count(const RunTableRequest& request, int replicas) const;
  double slowest_of_any(const RunTableRequest& request, int replicas, std::size_t parting);

  const PlacementProblem& problem_;
  const TimeLimit* time_;
  std::vector<DeviceClasses> classes_;                           // all divisions of the devices
  std::map<std::pair<std::size_t, int>, Cache> slowest_of_any_;  // keyed by (division, replicas)
  std::map<int, Priced> priced_;                                 // keyed by replicas
  double effort_left_ = 2e9;                                     // of PricedBound: a few seconds
};

}  // namespace penstock::partition
