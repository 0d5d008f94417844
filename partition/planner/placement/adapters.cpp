#include "partition/planner/placement/adapters.h"

#include <algorithm>
#include <map>

namespace penstock::partition {
namespace {

/// Calls visit(from, to) for each link of a ring over the devices, in the cluster's order.
template <class Visit>
void for_ring(std::vector<int> devices, Visit visit) {
  std::ranges::sort(devices);
  for (std::size_t i = 0; i < devices.size(); ++i)
    visit(devices[i], devices[(i + 1) % devices.size()]);
}

bool crosses(const Cluster& cluster, int from, int to) {
  return cluster.devices[from].node != cluster.devices[to].node;
}

}  // namespace

SharedLinks shared_adapters(const Cluster& cluster, const Placement& placement) {
  const int adapters = *std::ranges::max_element(cluster.adapters) + 1;
  SharedLinks shared;
  // Adapter a outwards is link a, and inwards it is link `adapters` + a.
  shared.bandwidths.resize(2 * static_cast<std::size_t>(adapters));
  for (int from = 0; from < cluster.size(); ++from)
    for (int to = 0; to < cluster.size(); ++to) {
      if (!crosses(cluster, from, to)) continue;
      const double bandwidth = cluster.link(from, to).bandwidth;
      for (const int link : {cluster.adapters[from], adapters + cluster.adapters[to]})
        shared.bandwidths[link] = std::max(shared.bandwidths[link], bandwidth);
    }
  shared.route = [&cluster, adapters, placement](int replica, int from, int to) {
    const int sender = placement[from][replica], receiver = placement[to][replica];
    if (!crosses(cluster, sender, receiver)) return std::vector<int>();
    return std::vector<int>{cluster.adapters[sender], adapters + cluster.adapters[receiver]};
  };
  return shared;
}

LinkRates slowest_of_rings(const Cluster& cluster, const Placement& placement, int stage) {
  LinkRates slowest = slowest_of_ring(cluster, placement[stage]);
  if (cluster.adapters.empty() || placement[stage].size() == 1) return slowest;
  std::map<int, int> leaving, entering;  // [adapter]: number of ring links
  for (const auto& devices : placement)
    for_ring(devices, [&](int from, int to) {
      if (!crosses(cluster, from, to)) return;
      ++leaving[cluster.adapters[from]];
      ++entering[cluster.adapters[to]];
    });
  // Every ring link through an adapter gets an equal part of its bandwidth.
  for_ring(placement[stage], [&](int from, int to) {
    if (!crosses(cluster, from, to)) return;
    const int others = std::max(leaving[cluster.adapters[from]], entering[cluster.adapters[to]]);
    slowest.bandwidth = std::min(slowest.bandwidth, cluster.link(from, to).bandwidth / others);
  });
  return slowest;
}

}  // namespace penstock::partition
