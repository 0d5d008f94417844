#pragma once

#include <string>

#include "partition/planner/cluster/cluster.h"

namespace penstock::partition {

/// Formats the cluster as a file for parse_cluster(). Devices may have their own links
/// (Cluster::exact_links). If those between the same nodes differ by at most a quarter, they are
/// written as one link with their medians. Otherwise all links are written as a matrix. Memory
/// without a limit is written as 2^20 GiB.
[[nodiscard]] std::string cluster_toml(const Cluster& cluster);

}  // namespace penstock::partition
