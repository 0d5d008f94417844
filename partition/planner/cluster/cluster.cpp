#include "partition/planner/cluster/cluster.h"

#include <fmt/format.h>

namespace penstock::partition {

// Links are looked up by pairs of nodes, as most clusters have a few rates for many devices. A
// matrix of single devices, if the file gives one, replaces them.
const LinkRates& Cluster::link(int from, int to) const {
  if (!exact_links.empty()) return exact_links[from * devices.size() + to];
  return node_links[devices[from].node * nodes.size() + devices[to].node];
}

double Cluster::price_per_hour(const std::vector<std::vector<int>>& stages) const {
  double sum = 0;
  for (const auto& stage : stages)
    for (const int device : stage) {
      // A sum without this device would look like a cheaper plan.
      if (devices[device].price_per_hour <= 0) return 0;
      sum += devices[device].price_per_hour;
    }
  return sum;
}

// Devices of a node follow each other, so the place is the number of its node's devices just
// before.
std::string Cluster::name_of(int device) const {
  int place = 0;
  while (place < device && devices[device - place - 1].node == devices[device].node) ++place;
  return fmt::format("{}:{}", nodes[devices[device].node], place);
}

Cluster equal_devices(int count) {
  Cluster cluster;
  cluster.nodes = {"device"};
  cluster.devices.resize(count);
  cluster.node_links = {{.latency = 0, .bandwidth = 1}};
  return cluster;
}

}  // namespace penstock::partition
