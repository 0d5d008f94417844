#pragma once

#include <filesystem>
#include <string>

#include "partition/cluster/cluster.h"

namespace penstock::partition {

/// The most memory that a cluster file may give a device, written also of one without a limit.
inline constexpr double kUnlimitedGib = 1 << 20;

/// Reads a cluster's TOML (docs/planning.md): kinds of devices, nodes of them, and links within and
/// between nodes, or a matrix of links from each device to each other. `name` stands for the text
/// in messages. ConfigError lists every fault with its line: bad syntax, unknown keys with the
/// nearest known, missing ones, wrong types and numbers, unknown kinds, devices without a link.
Cluster parse_cluster(const std::string& text, const std::string& name);

/// The same from a file or, where there is none, from configs/clusters/FILE.toml. ConfigError if
/// neither can be read.
Cluster read_cluster(const std::filesystem::path& file);

}  // namespace penstock::partition
