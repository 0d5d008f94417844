#pragma once

#include <vector>

#include "partition/planner/placement/heuristics/run_count.h"
#include "partition/planner/placement/problem.h"

namespace penstock::partition {

/// Devices of a cluster, and the runs of stages on them. A run has the best speed, memory and links
/// of any of the devices.
struct DeviceClass {
  std::vector<int> devices;
  RunKind run;
};

/// Returns the devices of a cluster in two classes, the fastest devices (fastest()) and the others.
/// There is but one class if all are equally fast, or if a node has devices of both.
std::vector<DeviceClass> device_classes(const PlacementProblem& problem);

/// Returns the pipelines of runs that the classes' devices allow. At most so many stages are on the
/// fastest class as it has devices.
RunRequest run_request(const PlacementProblem& problem, const std::vector<DeviceClass>& classes);

}  // namespace penstock::partition
