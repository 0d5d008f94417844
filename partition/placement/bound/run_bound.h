#pragma once

#include <map>
#include <utility>
#include <vector>

#include "partition/placement/bound/device_classes.h"
#include "partition/placement/bound/priced_bound.h"

namespace penstock::partition {

/// What no placement of a grid can beat, given that stages in a row share a node only as far as it
/// has devices for them, that the others cross between nodes, and that there are only so many fast
/// devices. `problem` must outlive it.
class RunBound {
 public:
  explicit RunBound(const PlacementProblem& problem, const TimeLimit* time = nullptr)
      : problem_(problem), time_(time), classes_(DeviceClasses::of_all_steps(problem)) {}

  /// At most `value`, which says that no solution of the grid is below that: a value that is no
  /// higher than needed takes less time. Less than there may be where the time is over.
  double of(const Grid& grid, double value);
  /// The same by the prices of devices (PricedBound), for any number of stages.
  double priced(int replicas, double value);

 private:
  /// A bound, and the value that it was asked for, which it may be at most.
  struct Known {
    double asked = 0, bound = 0;
  };
  struct Priced {
    PricedBound prices;
    Known known = {};
  };

  double of(const Grid& grid, double value, std::size_t parting);
  bool can_count(const RunTableRequest& request, int replicas) const;
  double slowest_of_any(const RunTableRequest& request, int replicas, std::size_t parting);

  const PlacementProblem& problem_;
  const TimeLimit* time_;
  std::vector<DeviceClasses> classes_;                           // each way to part them
  std::map<std::pair<std::size_t, int>, Known> slowest_of_any_;  // by classes_ and replicas
  std::map<int, Priced> priced_;                                 // by replicas
  double effort_left_ = 2e9;                                     // of prices: a few seconds
};

}  // namespace penstock::partition
