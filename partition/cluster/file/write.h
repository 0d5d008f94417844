#pragma once

#include <string>

#include "partition/cluster/cluster.h"

namespace penstock::partition {

/// The cluster as a file that parse_cluster reads. Where every device has its own links
/// (Cluster::exact_links), links between the same nodes that differ by no more than a quarter are
/// written as one, their medians; otherwise all are, as a matrix. Memory that has no limit is
/// written as 2^20 GiB.
[[nodiscard]] std::string cluster_toml(const Cluster& cluster);

}  // namespace penstock::partition
