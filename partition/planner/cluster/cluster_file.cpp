#include "partition/planner/cluster/cluster_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/name_match.h"
#include "base/quantities.h"
#include "configs/config.h"
#include "configs/config_folder.h"
#include "configs/source.h"
#include "partition/planner/cluster/file/cluster_source.h"
#include "partition/planner/cost/device_file.h"

// A cluster is read in three steps: the file's syntax (file/syntax.cpp), its devices, here, and its
// links (file/links.cpp). Each step reports all its faults, and a later one begins only without
// any, as it looks up what the earlier ones made.
//
// Groups of equal nodes are written once. `name = "gpu"` with `count = 3` becomes the nodes gpu0,
// gpu1 and gpu2, each with the group's devices, links and adapters.

namespace penstock::partition {
namespace {

/// Returns the kind of that name. Returns null, after adding a fault, if there is none.
const DeviceModel* kind_of(ClusterSource& source, const std::string& name, int line) {
  std::vector<std::string_view> names;
  for (const DeviceModel& kind : source.kinds) {
    if (kind.name == name) return &kind;
    names.push_back(kind.name);
  }
  source.fault(line, fmt::format("unknown device kind {}: describe it as [kinds.{}]{}", name, name,
                                 did_you_mean(name, names)));
  return nullptr;
}

/// Appends the node's devices, kind by kind in the order of the file. That order is also the order
/// of the devices' indices within the node.
void add_devices(ClusterSource& source, const NodeGroup& group, int node, Cluster& cluster) {
  for (const auto& [name, count] : group.devices) {
    const DeviceModel* kind = kind_of(source, name, group.line);
    if (kind == nullptr) continue;
    const Device device{
        .kind = name,
        .memory = kind->memory_gib * kGib,
        .speed = kind->speed,
        .node = node,
        .device = kind->device,
        .host_bandwidth = kind->host_bandwidth > 0 ? kind->host_bandwidth : kHostBandwidth,
        .price_per_hour = kind->price_per_hour};
    cluster.devices.insert(cluster.devices.end(), count, device);
  }
}

/// The default overlap with NCCL. Its kernels slow computing beside a message by 19 % on average
/// (arXiv 2507.03114). So in the time of a message, 1 / 1.19 of that time is computed.
constexpr double kOverlapOfNccl = 0.84;

/// Checks the devices that kinds name, and takes from them what the cluster file leaves out.
void look_up_devices(ClusterSource& source) {
  for (DeviceModel& kind : source.kinds) {
    if (kind.device.empty()) continue;
    // A device file beside the cluster file comes before one in configs/devices. The path is kept,
    // since read_device() is asked again once costs are made.
    const auto beside = std::filesystem::path(source.name).parent_path() / kind.device;
    if (std::filesystem::is_regular_file(beside)) kind.device = beside.string();
    RatedDevice rated;
    try {
      rated = read_device(kind.device);
    } catch (const ConfigError& error) {
      source.fault(kind.line, fmt::format("kinds.{}.device: {}", kind.name, error.what()));
      continue;
    }
    if (kind.memory_gib == 0) kind.memory_gib = rated.memory_gib;
    if (kind.host_bandwidth == 0) kind.host_bandwidth = rated.host_bandwidth;
    if (!source.overlap && rated.kind == layers::DeviceKind::cuda) source.overlap = kOverlapOfNccl;
  }
}

/// Divides the group's adapters evenly among the devices of the last node, in order. The node's
/// first device is `first`.
void add_adapters(const NodeGroup& group, int first, Cluster& cluster) {
  const int devices = cluster.size() - first;
  const int adapters = group.adapters > 0 ? group.adapters : devices;
  const int next = cluster.adapters.empty() ? 0 : cluster.adapters.back() + 1;
  // Adapters are numbered over all nodes. Eight devices with four adapters get 0 0 1 1 2 2 3 3.
  for (int i = 0; i < devices; ++i) cluster.adapters.push_back(next + i * adapters / devices);
}

/// Builds the cluster, node by node. If every device turns out to have an adapter of its own, the
/// list of adapters stays empty, which spares simulations the shared links.
Cluster cluster_of(ClusterSource& source) {
  Cluster cluster;
  look_up_devices(source);
  cluster.margin = source.margin;
  cluster.overlap = source.overlap.value_or(1);
  for (const NodeGroup& group : source.groups)
    for (int i = 0; i < group.count; ++i) {
      const std::string name = group.count == 1 ? group.name : fmt::format("{}{}", group.name, i);
      if (std::ranges::count(cluster.nodes, name) != 0)
        source.fault(group.line, fmt::format("two nodes are named {}", name));
      cluster.nodes.push_back(name);
      if (i > 0 && !source.faults.empty()) break;  // its faults are those of the group's first node
      const int first = cluster.size();
      add_devices(source, group, static_cast<int>(cluster.nodes.size()) - 1, cluster);
      add_adapters(group, first, cluster);
    }
  const bool shared = !cluster.devices.empty() && cluster.adapters.back() + 1 < cluster.size();
  if (!shared) cluster.adapters.clear();
  if (source.faults.empty()) add_links(source, cluster);
  return cluster;
}

/// Returns the first faults, one per line, and how many more there are.
std::string lines_of(const std::vector<std::string>& faults) {
  constexpr std::size_t max = 12;
  const std::size_t shown = std::min(faults.size(), max);
  std::string lines = fmt::format(
      "{}", fmt::join(faults.begin(), faults.begin() + static_cast<std::ptrdiff_t>(shown), "\n  "));
  if (shown < faults.size()) lines += fmt::format("\n  and {} more", faults.size() - shown);
  return lines;
}

}  // namespace

Cluster parse_cluster(const std::string& text, const std::string& name) {
  ClusterSource source = cluster_of_toml(text, name);
  Cluster cluster;
  if (source.faults.empty()) cluster = cluster_of(source);
  if (!source.faults.empty()) {
    throw ConfigError(fmt::format("the cluster can't be used:\n  {}", lines_of(source.faults)));
  }
  return cluster;
}

// A path comes first: a file in the working folder replaces a known cluster of the same name.
Cluster read_cluster(const std::filesystem::path& file) {
  if (const auto text = configs::file_text(file)) return parse_cluster(*text, file.string());
  auto known = configs::config_folder() / "clusters" / file;
  known += ".toml";
  if (const auto text = configs::file_text(known)) return parse_cluster(*text, known.string());
  const std::vector<std::string> names = configs::names_in_config_folder("clusters");
  throw ConfigError(fmt::format(
      "{}: no such cluster file, or it can't be read; known by name are {}{}", file.string(),
      fmt::join(names, ", "), did_you_mean(file.stem().string(), names)));
}

}  // namespace penstock::partition
