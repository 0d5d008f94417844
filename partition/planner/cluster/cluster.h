#pragma once

#include <limits>
#include <string>
#include <vector>

#include "partition/planner/cost/cost.h"

namespace penstock::partition {

/// Default bytes per second that a device copies to or from host memory: the practical rate of PCIe
/// 4.0 x16.
inline constexpr double kHostBandwidth = 25e9;

struct Device {
  std::string kind;
  double memory = std::numeric_limits<double>::infinity();  // in bytes
  /// Speed relative to the device on which costs were measured.
  double speed = 1;
  int node = 0;
  /// Name for read_device() of the device whose rates it has. Empty means unknown.
  std::string device = {};
  double host_bandwidth = kHostBandwidth;  // bytes per second to or from host memory
  double price_per_hour = 0;               // in the file's currency; 0: unknown
};

/// A Cluster is nodes with devices, and the links between the devices.
struct Cluster {
  double margin = 0;   // share of each device's memory that plans leave free
  double overlap = 1;  // see Network::overlap; the same for every link
  std::vector<std::string> nodes;
  std::vector<Device> devices;         // in the order of the nodes
  std::vector<LinkRates> node_links;   // [from * nodes + to]; on the diagonal, within a node
  std::vector<LinkRates> exact_links;  // [from * devices + to]; replaces node_links if not empty
  /// For each device, the network adapter by which messages leave and enter its node. Devices of a
  /// node may share an adapter. Empty means that each device has its own.
  std::vector<int> adapters;

  int size() const { return static_cast<int>(devices.size()); }
  /// Returns the link from one device to another.
  const LinkRates& link(int from, int to) const;
  /// Returns the bytes of a device that plans may use.
  double usable(int device) const { return devices[device].memory * (1 - margin); }
  /// Returns the price of the devices of [stage][replica], or 0 if the price of any is unknown.
  double price_per_hour(const std::vector<std::vector<int>>& stages) const;
  /// Returns a name such as "node3:5", where 5 is the device's index in its node.
  std::string name_of(int device) const;
};

/// Returns devices of speed 1 without a memory limit. Their links have a bandwidth of 1, so `bytes`
/// of a message are its seconds.
Cluster equal_devices(int count);

}  // namespace penstock::partition
