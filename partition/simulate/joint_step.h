#pragma once

#include <functional>
#include <vector>

#include "partition/simulate/step_estimate.h"

namespace penstock::partition {

/// Links that messages of several pipelines pass, besides those between their own ranks.
struct SharedLinks {
  std::vector<double> bandwidths;  // bytes a second
  /// Numbers of those that a message of a replica's rank to another takes.
  std::function<std::vector<int>(int replica, int from, int to)> route;
};

/// Seconds of one step of all replicas where many follow each other: their pipelines run beside
/// each other, and where messages of any of them meet on a shared link they share its bandwidth.
/// Steps of all ranks of all replicas begin together, with Barrier::before_step.
[[nodiscard]] double joint_period(const std::vector<const StepEstimate*>& replicas,
                                  const SharedLinks& shared, Barrier barrier);

}  // namespace penstock::partition
