#pragma once

#include "partition/cluster/cluster.h"
#include "partition/cluster/file/syntax.h"

namespace penstock::partition {

/// Gives every pair of the cluster's devices its link. Faults are pairs without one, unknown or
/// repeated nodes, and a matrix of another size.
void add_links(ClusterSource& source, Cluster& cluster);

}  // namespace penstock::partition
