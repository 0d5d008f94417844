#pragma once

#include "partition/planner/cluster/cluster.h"
#include "partition/planner/cluster/file/syntax.h"

namespace penstock::partition {

/// Sets the links of all pairs of devices. Faults are pairs without a link, unknown or repeated
/// nodes, and a matrix of the wrong size.
void add_links(ClusterSource& source, Cluster& cluster);

}  // namespace penstock::partition
