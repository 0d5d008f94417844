#pragma once

#include <map>
#include <utility>
#include <vector>

#include "partition/placement/bound/device_classes.h"

namespace penstock::partition {

/// What no placement of a grid can beat, given that stages in a row share a node only as far as it
/// has devices for them, that the others cross between nodes, and that there are only so many fast
/// devices. `problem` must outlive it.
class RunBound {
 public:
  /// Only solutions below `value` are of interest.
  RunBound(const PlacementProblem& problem, double value, const TimeLimit* time = nullptr)
      : problem_(problem),
        value_(value),
        time_(time),
        classes_(DeviceClasses::of_all_steps(problem)) {}

  /// At most `value`, which says that no solution of the grid is below that. Less than there may be
  /// where the time is over.
  double of(const Grid& grid);

 private:
  double of(const Grid& grid, std::size_t parting);
  double priced(int replicas);
  bool can_count(const RunTableRequest& request, int replicas) const;
  double slowest_of_any(const RunTableRequest& request, int replicas, std::size_t parting);

  const PlacementProblem& problem_;
  double value_;
  const TimeLimit* time_;
  std::vector<DeviceClasses> classes_;                            // each way to part them
  std::map<std::pair<std::size_t, int>, double> slowest_of_any_;  // by classes_ and replicas
  std::map<int, double> priced_;                                  // by replicas
  double priced_effort_left_ = 1e9;                               // steps, a few seconds
};

}  // namespace penstock::partition
