#pragma once

#include <limits>
#include <string>
#include <vector>

#include "partition/cost/cost.h"

namespace penstock::partition {

/// Bytes a second that a device copies to the host's memory, or back, unless it is said: what
/// PCIe 4.0 x16 reaches.
inline constexpr double kHostBandwidth = 25e9;

struct Device {
  std::string kind;
  double memory = std::numeric_limits<double>::infinity();  // bytes
  double speed = 1;  // how many times faster than the device that costs were taken on
  int node = 0;
  std::string device = {};  // whose rates it has, as read_device() takes it; empty: unknown
  double host_bandwidth = kHostBandwidth;  // bytes a second that it copies to the host, or back
  double price_per_hour = 0;               // in the file's currency; 0: unknown
};

/// Devices in nodes, and the links between them.
struct Cluster {
  double margin = 0;   // share of each device's memory that plans leave free
  double overlap = 1;  // as Network::overlap, of every link
  std::vector<std::string> nodes;
  std::vector<Device> devices;         // in the order of the nodes
  std::vector<LinkRates> node_links;   // [from · nodes + to]; of a node to itself, within it
  std::vector<LinkRates> exact_links;  // [from · devices + to], in place of those; or empty
  /// Of each device: the adapter by which messages leave its node and enter it, which others of the
  /// node may share. Empty: each has its own.
  std::vector<int> adapters;

  int size() const { return static_cast<int>(devices.size()); }
  const LinkRates& link(int from, int to) const;
  /// Bytes that plans may use of a device.
  double usable(int device) const { return devices[device].memory * (1 - margin); }
  /// Of the devices of [stage][replica]; 0 where that of one of them is unknown.
  double price_per_hour(const std::vector<std::vector<int>>& stages) const;
  /// "node3:5", the device's place in its node.
  std::string name_of(int device) const;
};

/// Devices of speed 1 without memory limit; what crosses their links is counted in seconds.
Cluster equal_devices(int count);

}  // namespace penstock::partition
