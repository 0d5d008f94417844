#include "partition/planner/placement/symmetry.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace penstock::partition {
namespace {

bool equal(const LinkRates& a, const LinkRates& b) {
  return a.latency == b.latency && a.bandwidth == b.bandwidth;
}

/// Returns for each element the first one that is equivalent to it.
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

using Signatures = std::vector<std::vector<std::vector<int>>>;  // [replica][stage]

/// Gives equal signatures equal numbers. The order of numbers depends on signatures alone, not on
/// names of devices.
std::vector<std::vector<int>> numbered(const Signatures& signatures) {
  std::map<std::vector<int>, int> numbers;
  for (const auto& row : signatures)
    for (const auto& signature : row) numbers.try_emplace(signature, 0);
  int next = 0;
  for (auto& [signature, number] : numbers) number = next++;
  std::vector<std::vector<int>> colours;
  for (const auto& row : signatures) {
    auto& colour = colours.emplace_back();
    for (const auto& signature : row) colour.push_back(numbers.at(signature));
  }
  return colours;
}

}  // namespace

/// Renames devices one by one. A device gets the name of the first free device like it; its node
/// stands for the first untouched node like it.
class Symmetry::Renaming {
 public:
  explicit Renaming(const Symmetry& symmetry)
      : symmetry_(symmetry),
        node_(symmetry.devices_of_.size(), -1),
        node_taken_(node_.size(), false),
        taken_(symmetry.cluster_.size(), false) {}

  std::vector<int> names(const std::vector<int>& devices) {
    std::vector<int> names;
    for (const int device : devices) names.push_back(name(device));
    return names;
  }

 private:
  int name(int device) {
    const Cluster& cluster = symmetry_.cluster_;
    if (!cluster.exact_links.empty()) return take(symmetry_.device_class_[device]);
    int& node = node_[cluster.devices[device].node];
    if (node < 0) {
      const auto& classes = symmetry_.node_class_;
      for (node = 0; node_taken_[node] || classes[node] != classes[cluster.devices[device].node];)
        ++node;
      node_taken_[node] = true;
    }
    // Nodes that are alike list their devices in the same order.
    const auto& own = symmetry_.devices_of_[cluster.devices[device].node];
    const int first = symmetry_.device_class_[device];
    const auto place = std::ranges::find(own, first) - own.begin();
    return take(symmetry_.device_class_[symmetry_.devices_of_[node][place]]);
  }

  /// Takes the first free device of a class. A class has the number of its first device.
  int take(int device_class) {
    int name = device_class;
    while (taken_[name] || symmetry_.device_class_[name] != device_class) ++name;
    taken_[name] = true;
    return name;
  }

  const Symmetry& symmetry_;
  std::vector<int> node_;  // [node]: the node that it is renamed to
  std::vector<bool> node_taken_, taken_;
};

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

bool Symmetry::share(int a, int b) const {
  return cluster_.adapters.empty() || cluster_.adapters[a] == cluster_.adapters[b];
}

bool Symmetry::alike(int a, int b) const {
  if (!same(a, b) || !share(a, b)) return false;
  // Without exact links, a link depends on the nodes of its ends alone.
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
  // Adapters must divide both nodes alike: the same neighbours share one.
  for (std::size_t i = 1; i < devices_of_[a].size(); ++i)
    if (share(devices_of_[a][i - 1], devices_of_[a][i]) !=
        share(devices_of_[b][i - 1], devices_of_[b][i]))
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
    // Nodes without used devices may be exchanged, so one of each class offers its devices.
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

/// Colours each slot by colour refinement. The first colour encodes its stage and the class of its
/// device. Each round adds the colours of the slots of its pipeline and of its node. Three rounds
/// may leave slots with equal colours that differ; canonical() then compares names.
Symmetry::Colours Symmetry::colours_of(const Placement& placement) const {
  constexpr int kRounds = 3;
  const std::size_t stages = placement.size(), replicas = placement.front().size();
  const bool by_nodes = cluster_.exact_links.empty();
  Signatures signatures(replicas);
  for (std::size_t r = 0; r < replicas; ++r)
    for (std::size_t k = 0; k < stages; ++k) {
      const int device = placement[k][r], node = cluster_.devices[device].node;
      const auto& own = devices_of_[node];
      const auto place = std::ranges::find(own, device_class_[device]) - own.begin();
      signatures[r].push_back({static_cast<int>(k), by_nodes ? node_class_[node] : -1,
                               by_nodes ? static_cast<int>(place) : device_class_[device]});
    }
  Colours colours = numbered(signatures);
  for (int round = 0; by_nodes && round < kRounds; ++round) {
    std::map<int, std::vector<int>> in_node;
    for (std::size_t r = 0; r < replicas; ++r)
      for (std::size_t k = 0; k < stages; ++k)
        in_node[cluster_.devices[placement[k][r]].node].push_back(colours[r][k]);
    for (auto& [node, own] : in_node) std::ranges::sort(own);
    for (std::size_t r = 0; r < replicas; ++r)
      for (std::size_t k = 0; k < stages; ++k) {
        auto& signature = signatures[r][k];
        signature = {colours[r][k]};
        signature.insert(signature.end(), colours[r].begin(), colours[r].end());
        const auto& own = in_node[cluster_.devices[placement[k][r]].node];
        signature.insert(signature.end(), own.begin(), own.end());
      }
    colours = numbered(signatures);
  }
  return colours;
}

Placement Symmetry::canonical(const Placement& placement) const {
  const std::size_t stages = placement.size(), replicas = placement.front().size();
  const Colours colours = colours_of(placement);
  std::vector<std::vector<int>> pipelines(replicas);
  for (const auto& stage : placement)
    for (std::size_t r = 0; r < replicas; ++r) pipelines[r].push_back(stage[r]);
  std::vector<std::size_t> left(replicas);
  std::iota(left.begin(), left.end(), 0);
  std::ranges::stable_sort(left, {}, [&](std::size_t r) { return colours[r]; });
  Placement result(stages);
  Renaming renaming(*this);
  // `left` stays sorted by colours, so the next pipeline is one with the colours of the first.
  while (!left.empty()) {
    auto next = left.begin();
    std::vector<int> min = Renaming(renaming).names(pipelines[*next]);
    for (auto other = next + 1; other != left.end() && colours[*other] == colours[left.front()];
         ++other) {
      std::vector<int> names = Renaming(renaming).names(pipelines[*other]);
      if (names >= min) continue;
      min = std::move(names);
      next = other;
    }
    const std::vector<int> names = renaming.names(pipelines[*next]);
    for (std::size_t k = 0; k < stages; ++k) result[k].push_back(names[k]);
    left.erase(next);
  }
  return result;
}

}  // namespace penstock::partition
