#pragma once

#include <vector>

#include "partition/planner/cluster/cluster.h"

namespace penstock::partition {

/// Splits the devices into two classes at the largest ratio between neighbouring speeds. Returns
/// true for each device of the faster class. If all speeds are equal, all are true.
std::vector<bool> fastest(const Cluster& cluster);

}  // namespace penstock::partition
