#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "partition/planner/cluster/cluster.h"
#include "partition/planner/cost/cost.h"

namespace penstock::partition {

/// [kinds.NAME]: a kind of device.
struct DeviceModel {
  std::string name;
  double memory_gib = 0, speed = 1;  // memory 0: that of `device`
  std::string device = {};           // name for read_device(); empty: `speed` alone counts
  double host_bandwidth = 0;         // bytes per second; 0: as `device` or kHostBandwidth
  double price_per_hour = 0;         // 0: not given
  int line = 0;
};

/// [[node]]: `count` equal nodes.
struct NodeGroup {
  std::string name;
  int count = 1;
  std::vector<std::pair<std::string, int>> devices = {};  // kinds in file order, with their numbers
  std::optional<LinkRates> within = {};
  int adapters = 0;  // adapters that the devices share; 0: one each
  int line = 0;
};

/// [[link]]: between two nodes, in both directions.
struct NodeLink {
  std::vector<std::string> nodes;
  LinkRates rates;
  int line = 0;
};

/// [matrix]: from each device to each other device.
struct LinkMatrix {
  std::vector<std::vector<double>> latency_us, gb_per_s;
  int line = 0;
};

/// A ClusterSource is a cluster as a file states it.
struct ClusterSource {
  std::string name;                 // name of the file
  std::vector<std::string> faults;  // each with file and line

  double margin = 0;
  std::optional<double> overlap = {};
  std::vector<DeviceModel> kinds;
  std::vector<NodeGroup> groups;
  std::optional<LinkRates> between;
  std::vector<NodeLink> links;
  std::optional<LinkMatrix> matrix;

  void fault(int line, const std::string& what);
};

[[nodiscard]] LinkRates rates_of(double latency_us, double gb_per_s);

/// Parses the syntax alone. Faults are bad TOML, unknown or missing keys, wrong types, and numbers
/// out of range.
[[nodiscard]] ClusterSource cluster_of_toml(const std::string& text, const std::string& name);

/// Sets the links of all pairs of devices. Faults are pairs without a link, unknown or repeated
/// nodes, and a matrix of the wrong size.
void add_links(ClusterSource& source, Cluster& cluster);

}  // namespace penstock::partition
