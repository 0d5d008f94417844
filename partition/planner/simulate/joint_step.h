#pragma once

#include <functional>
#include <vector>

#include "partition/planner/simulate/step_estimate.h"

namespace penstock::partition {

/// Links that messages of several pipelines pass, in addition to the links between their own ranks.
struct SharedLinks {
  std::vector<double> bandwidths;  // bytes per second
  /// Returns the shared links that a message from one rank of a replica to another passes.
  std::function<std::vector<int>(int replica, int from, int to)> route;
};

/// Returns the seconds of one step of all replicas, in a long sequence of steps. The pipelines run
/// at the same time, and their messages share the bandwidth of shared links. With
/// Barrier::before_step the steps of all ranks of all replicas begin together.
[[nodiscard]] double joint_period(const std::vector<const StepEstimate*>& replicas,
                                  const SharedLinks& shared, Barrier barrier);

}  // namespace penstock::partition
