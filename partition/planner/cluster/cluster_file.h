#pragma once

#include <filesystem>
#include <string>

#include "partition/planner/cluster/cluster.h"

namespace penstock::partition {

/// The maximum memory that a cluster file may give a device. It is also written for a device
/// without a limit.
inline constexpr double kUnlimitedGib = 1 << 20;

/// Parses a cluster's TOML (docs/planning.md): kinds of devices, nodes with devices, and links
/// within and between nodes, or a matrix of links between all devices. `name` is the text's name in
/// messages. Throws ConfigError, which lists every fault with its line. Faults are bad syntax,
/// unknown and missing keys, wrong types and numbers, unknown kinds, and devices without a link.
/// For an unknown key the nearest known one is named.
Cluster parse_cluster(const std::string& text, const std::string& name);

/// Reads and parses a cluster file or, if it does not exist, configs/clusters/FILE.toml. Also
/// throws ConfigError if neither can be read.
Cluster read_cluster(const std::filesystem::path& file);

/// Formats the cluster as a file for parse_cluster(). Devices may have their own links
/// (Cluster::exact_links). If those between the same nodes differ by at most a quarter, they are
/// written as one link with their medians. Otherwise all links are written as a matrix. Memory
/// without a limit is written as 2^20 GiB.
[[nodiscard]] std::string cluster_toml(const Cluster& cluster);

}  // namespace penstock::partition
