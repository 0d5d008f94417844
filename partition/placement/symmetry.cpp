#include "partition/placement/symmetry.h"

#include <algorithm>

namespace penstock::partition {
namespace {

bool equal(const LinkRates& a, const LinkRates& b) {
  return a.latency == b.latency && a.bandwidth == b.bandwidth;
}

/// The first element that each stands for, by an equivalence.
template <class Alike>
std::vector<int> classes(int count, Alike alike) {
  std::vector<int> result, firsts;
  for (int i = 0; i < count; ++i) {
    const auto first = std::ranges::find_if(firsts, [&](int other) { return alike(other, i); });
    result.push_back(first == firsts.end() ? i : *first);
    if (result.back() == i) firsts.push_back(i);
  }
  return result;
}

}  // namespace

Symmetry::Symmetry(const Cluster& cluster) : cluster_(cluster), devices_of_(cluster.nodes.size()) {
  for (int device = 0; device < cluster.size(); ++device)
    devices_of_[cluster.devices[device].node].push_back(device);
  device_class_ = classes(cluster.size(), [&](int a, int b) { return alike(a, b); });
  node_class_ = classes(static_cast<int>(cluster.nodes.size()),
                        [&](int a, int b) { return nodes_alike(a, b); });
}

bool Symmetry::same(int a, int b) const {
  return cluster_.devices[a].speed == cluster_.devices[b].speed &&
         cluster_.devices[a].memory == cluster_.devices[b].memory;
}

bool Symmetry::alike(int a, int b) const {
  if (!same(a, b)) return false;
  if (cluster_.exact_links.empty()) return cluster_.devices[a].node == cluster_.devices[b].node;
  if (!equal(cluster_.link(a, b), cluster_.link(b, a))) return false;
  for (int other = 0; other < cluster_.size(); ++other) {
    if (other == a || other == b) continue;
    if (!equal(cluster_.link(a, other), cluster_.link(b, other)) ||
        !equal(cluster_.link(other, a), cluster_.link(other, b)))
      return false;
  }
  return true;
}

bool Symmetry::nodes_alike(int a, int b) const {
  if (!cluster_.exact_links.empty()) return false;
  if (!std::ranges::equal(devices_of_[a], devices_of_[b], [&](int x, int y) { return same(x, y); }))
    return false;
  const std::size_t nodes = cluster_.nodes.size();
  const auto link = [&](int from, int to) { return cluster_.node_links[from * nodes + to]; };
  if (!equal(link(a, a), link(b, b)) || !equal(link(a, b), link(b, a))) return false;
  for (int other = 0; other < static_cast<int>(nodes); ++other) {
    if (other == a || other == b) continue;
    if (!equal(link(a, other), link(b, other)) || !equal(link(other, a), link(other, b)))
      return false;
  }
  return true;
}

std::vector<int> Symmetry::distinct(const std::vector<bool>& used) const {
  std::vector<bool> device_seen(used.size(), false), node_seen(devices_of_.size(), false);
  std::vector<int> result;
  for (const std::vector<int>& devices : devices_of_) {
    if (devices.empty()) continue;
    const int node = cluster_.devices[devices.front()].node;
    if (std::ranges::none_of(devices, [&](int device) { return used[device]; })) {
      if (node_seen[node_class_[node]]) continue;
      node_seen[node_class_[node]] = true;
    }
    for (const int device : devices) {
      if (used[device] || device_seen[device_class_[device]]) continue;
      device_seen[device_class_[device]] = true;
      result.push_back(device);
    }
  }
  return result;
}

}  // namespace penstock::partition
