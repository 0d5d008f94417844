#include "partition/planner/placement/heuristics/row_orders.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace penstock::partition {
namespace {

/// Returns a chain of nodes from `first` on: each time the nearest one that is left, by the time
/// for a byte there and back.
std::vector<int> chain_of_nodes(const Cluster& cluster, int first) {
  const int nodes = static_cast<int>(cluster.nodes.size());
  const auto far = [&](int from, int to) {
    const auto per_byte = [&](int a, int b) {
      return 1 / cluster.node_links[static_cast<std::size_t>(a) * nodes + b].bandwidth;
    };
    return per_byte(from, to) + per_byte(to, from);
  };
  std::vector<int> chain{first}, left;
  for (int node = 0; node < nodes; ++node)
    if (node != first) left.push_back(node);
  while (!left.empty()) {
    const auto next =
        std::ranges::min_element(left, {}, [&](int node) { return far(chain.back(), node); });
    chain.push_back(*next);
    left.erase(next);
  }
  return chain;
}

/// True if links between nodes differ in bandwidth.
bool links_differ(const Cluster& cluster) {
  const std::size_t nodes = cluster.nodes.size();
  for (std::size_t link = 0; link < nodes * nodes; ++link)
    if (link / nodes != link % nodes &&
        cluster.node_links[link].bandwidth != cluster.node_links[1].bandwidth)
      return true;
  return false;
}

/// Returns the nodes in the cluster's order and, if their links differ, chains from up to 8 of
/// them.
std::vector<std::vector<int>> orders_of_nodes(const Cluster& cluster) {
  constexpr int kMaxChains = 8;
  const int nodes = static_cast<int>(cluster.nodes.size());
  std::vector<int> order(nodes);
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> orders{order};
  if (!cluster.exact_links.empty() || !links_differ(cluster)) return orders;
  for (int first = 0; first < std::min(nodes, kMaxChains); ++first) {
    std::vector<int> chain = chain_of_nodes(cluster, first);
    if (std::ranges::count(orders, chain) == 0) orders.push_back(std::move(chain));
  }
  return orders;
}

/// Returns the members of each node, in the order of nodes; nodes without any are left out.
std::vector<std::vector<int>> devices_of_nodes(const std::vector<int>& order,
                                               const Cluster& cluster,
                                               const std::vector<bool>& members) {
  std::vector<std::vector<int>> nodes;
  for (const int node : order) {
    std::vector<int> devices;
    for (int device = 0; device < cluster.size(); ++device)
      if (members[device] && cluster.devices[device].node == node) devices.push_back(device);
    if (!devices.empty()) nodes.push_back(std::move(devices));
  }
  return nodes;
}

}  // namespace

std::vector<RowOrder> row_orders(const Cluster& cluster, int replicas) {
  std::vector<RowOrder> orders;
  const bool shared = cluster.devices.size() > cluster.nodes.size();  // nodes of several devices
  for (const std::vector<int>& nodes : orders_of_nodes(cluster)) {
    orders.push_back({nodes});
    if (shared && replicas > 1 && replicas <= std::ssize(nodes)) orders.push_back({nodes, true});
  }
  return orders;
}

std::vector<int> devices_in(const RowOrder& order, const Cluster& cluster,
                            const std::vector<bool>& members, int replicas) {
  const auto nodes = devices_of_nodes(order.nodes, cluster, members);
  const std::size_t together = order.replicas_apart ? static_cast<std::size_t>(replicas) : 1;
  std::vector<int> devices;
  for (std::size_t begin = 0; begin + together <= nodes.size(); begin += together) {
    const auto group = std::span(nodes).subspan(begin, together);
    std::size_t min = group.front().size();
    for (const std::vector<int>& node : group) min = std::min(min, node.size());
    for (std::size_t i = 0; i < min; ++i)
      for (const std::vector<int>& node : group) devices.push_back(node[i]);
  }
  return devices;
}

}  // namespace penstock::partition
