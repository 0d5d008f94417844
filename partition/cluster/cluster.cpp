#include "partition/cluster/cluster.h"

#include <fmt/format.h>

namespace penstock::partition {

const LinkRates& Cluster::link(int from, int to) const {
  if (!exact_links.empty()) return exact_links[from * devices.size() + to];
  return node_links[devices[from].node * nodes.size() + devices[to].node];
}

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
