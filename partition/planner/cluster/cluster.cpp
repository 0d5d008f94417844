#include "partition/planner/cluster/cluster.h"

#include <fmt/format.h>

namespace penstock::partition {

const LinkRates& Cluster::link(int from, int to) const {
  if (!exact_links.empty()) return exact_links[from * devices.size() + to];
  return node_links[devices[from].node * nodes.size() + devices[to].node];
}

double Cluster::price_per_hour(const std::vector<std::vector<int>>& stages) const {
  double sum = 0;
  for (const auto& stage : stages)
    for (const int device : stage) {
      if (devices[device].price_per_hour <= 0) return 0;
      sum += devices[device].price_per_hour;
    }
  return sum;
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
