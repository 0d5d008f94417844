#pragma once

#include <vector>

#include "partition/cluster/cluster.h"

namespace penstock::partition {

/// For each device whether it is faster than the largest step between the cluster's speeds, so that
/// those above it and below it make two classes; all of them where none is faster than another.
std::vector<bool> fastest(const Cluster& cluster);

}  // namespace penstock::partition
