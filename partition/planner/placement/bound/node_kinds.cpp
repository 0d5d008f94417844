#include "partition/planner/placement/bound/node_kinds.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {
namespace {

constexpr std::size_t kMaxKinds = 4;
constexpr int kMaxStates = 300;  // of a node; each costs time

/// The best of several links.
struct Links {
  LinkRates one_way{.latency = kInfeasible, .bandwidth = 0};
  LinkCost crossing{kInfeasible, kInfeasible};

  bool any() const { return one_way.bandwidth > 0; }
  void take(const LinkRates& rates, const LinkCost& cost) {
    one_way.latency = std::min(one_way.latency, rates.latency);
    one_way.bandwidth = std::max(one_way.bandwidth, rates.bandwidth);
    crossing = best_of(crossing, cost);
  }
};

/// Nodes with equal numbers of devices of each kind.
struct Alike {
  std::vector<int> devices;          // [kind]: devices of a node
  Links within, between;             // the best links of any node
  std::vector<double> largest;       // [kind]: largest memory of a device
  std::vector<double> min_of_first;  // [n]: largest of the nodes' (n + 1)-th memories

  int size() const { return std::accumulate(devices.begin(), devices.end(), 0); }
};

std::vector<int> devices_of_kinds(const std::vector<int>& node, const DeviceKinds& kinds) {
  std::vector<int> count(kinds.speeds.size(), 0);
  for (const int device : node) ++count[kinds.of[device]];
  return count;
}

void take_memory(const Cluster& cluster, const std::vector<int>& node, const DeviceKinds& kinds,
                 Alike& alike) {
  alike.largest.resize(kinds.speeds.size(), 0);
  alike.min_of_first.resize(node.size(), 0);
  std::vector<double> memories;
  for (const int device : node) {
    double& largest = alike.largest[kinds.of[device]];
    largest = std::max(largest, cluster.usable(device));
    memories.push_back(cluster.usable(device));
  }
  std::ranges::sort(memories, std::greater<>());
  for (std::size_t i = 0; i < memories.size(); ++i)
    alike.min_of_first[i] = std::max(alike.min_of_first[i], memories[i]);
}

void take_links(const PlacementProblem& problem, const std::vector<int>& node, Alike& alike) {
  const Cluster& cluster = problem.cluster;
  // Devices of a node have the same links, unless the cluster lists links of single devices.
  const std::size_t differ = cluster.exact_links.empty() ? 1 : node.size();
  for (const int device : std::span(node).first(differ))
    for (int other = 0; other < cluster.size(); ++other) {
      if (other == device) continue;
      const bool same = cluster.devices[other].node == cluster.devices[device].node;
      Links& links = same ? alike.within : alike.between;
      links.take(cluster.link(device, other), crossing(problem, device, other));
      links.take(cluster.link(other, device), crossing(problem, other, device));
    }
}

std::vector<Alike> nodes_alike(const PlacementProblem& problem, const DeviceKinds& kinds) {
  const Cluster& cluster = problem.cluster;
  std::vector<std::vector<int>> nodes(cluster.nodes.size());
  for (int device = 0; device < cluster.size(); ++device)
    nodes[cluster.devices[device].node].push_back(device);
  std::map<std::vector<int>, Alike> found;
  for (const std::vector<int>& node : nodes) {
    if (node.empty()) continue;
    const std::vector<int> count = devices_of_kinds(node, kinds);
    Alike& alike = found[count];
    alike.devices = count;
    take_memory(cluster, node, kinds, alike);
    take_links(problem, node, alike);
  }
  std::vector<Alike> all;
  for (auto& [count, alike] : found) all.push_back(std::move(alike));
  return all;
}

/// Returns the kind of a node's n-th fastest device.
int slowest_of(const Alike& alike, int n) {
  int kind = 0;
  while (n > alike.devices[kind]) n -= alike.devices[kind++];
  return kind;
}

/// Devices used of each kind by this replica, then the number used by all replicas. If all devices
/// are of one kind, only the latter counts.
using Used = std::vector<int>;

/// The states of a node, numbered as they are reached.
class States {
 public:
  explicit States(const Alike& alike) : alike_(alike), size_(alike.size()) {
    const auto kinds = std::ranges::count_if(alike.devices, [](int count) { return count > 0; });
    several_ = kinds > 1;
    known_[Used(alike.devices.size() + 1, 0)] = 0;
    order_.push_back(known_.begin()->first);
  }

  /// Returns the state after a stage of that kind that takes so many devices; 0 if too few are
  /// free.
  int after(int state, int kind, int places) {
    Used used = order_[static_cast<std::size_t>(state)];
    if (several_ && ++used[kind] > alike_.devices[kind]) return 0;
    if ((used.back() += places) > size_) return 0;
    if (count() > kMaxStates) return 0;
    const auto [at, fresh] = known_.try_emplace(used, count());
    if (fresh) order_.push_back(used);
    return at->second;
  }
  /// Number of states so far. Beyond kMaxStates, no more are added.
  int count() const { return static_cast<int>(order_.size()); }

 private:
  const Alike& alike_;
  int size_;
  bool several_ = false;
  std::map<Used, int> known_;
  std::vector<Used> order_;
};

/// Stages without moves, and the number of devices of the node that each takes.
struct Offers {
  std::vector<NodeStage> stages;
  std::vector<int> places;
};

/// Returns the stages that a node offers to one replica, of each kind of device. The replica is on
/// a device of the kind, and all R are on some R devices of the cluster. So a stage has no more
/// memory than the largest device of its kind, or than the R-th largest of all. If all R replicas
/// are in the node, its R-th fastest and R-th largest device count.
Offers offers(const PlacementProblem& problem, const DeviceKinds& kinds, const Alike& alike,
              int replicas) {
  const int runs = micro_batches_of(problem, {1, replicas});
  std::vector<double> memories;
  for (int device = 0; device < problem.cluster.size(); ++device)
    memories.push_back(problem.cluster.usable(device));
  std::ranges::sort(memories, std::greater<>());
  Offers offers;
  for (std::size_t kind = 0; kind < kinds.speeds.size(); ++kind) {
    if (alike.devices[kind] == 0) continue;
    NodeStage stage{.kind = static_cast<int>(kind),
                    .per_work = 1 / kinds.speeds[kind],
                    .memory = std::min(alike.largest[kind], memories[replicas - 1])};
    if (replicas == 1 || alike.between.any()) {
      if (replicas > 1) stage.reduction = ring(alike.between.one_way, replicas, runs);
      offers.stages.push_back(stage);
      offers.places.push_back(1);
    }
    if (replicas == 1 || replicas > alike.size()) continue;
    stage.per_work = std::max(stage.per_work, 1 / kinds.speeds[slowest_of(alike, replicas)]);
    stage.memory = std::min(stage.memory, alike.min_of_first[replicas - 1]);
    stage.reduction = ring(alike.within.one_way, replicas, runs);
    offers.stages.push_back(stage);
    offers.places.push_back(replicas);
  }
  return offers;
}

/// Returns the type of some nodes, with the moves between their states.
NodeType type_of(const Alike& alike, Offers offers) {
  NodeType type{.within = alike.within.crossing,
                .between = alike.between.crossing,
                .stages = std::move(offers.stages)};
  States states(alike);
  for (int state = 0; state < states.count(); ++state)
    for (std::size_t i = 0; i < type.stages.size(); ++i) {
      NodeStage& stage = type.stages[i];
      const int to = states.after(state, stage.kind, offers.places[i]);
      if (state == 0)
        stage.begun = to;
      else if (to > 0)
        stage.moves.push_back({state, to});
    }
  type.states = states.count();
  if (type.states <= kMaxStates) return type;
  type.states = 1;
  for (NodeStage& stage : type.stages) {
    stage.begun = 0;
    stage.moves.clear();
  }
  type.within = type.between = best_of(type.within, type.between);
  return type;
}

}  // namespace

DeviceKinds::DeviceKinds(const Cluster& cluster) {
  std::vector<double> known;
  for (const Device& device : cluster.devices) known.push_back(device.speed);
  std::ranges::sort(known, std::greater<>());
  known.erase(std::ranges::unique(known).begin(), known.end());
  std::vector<std::size_t> steps(known.size());  // indices i of the ratios known[i - 1] / known[i]
  std::iota(steps.begin(), steps.end(), 0);
  std::ranges::stable_sort(steps.begin() + 1, steps.end(), std::greater<>(),
                           [&](std::size_t i) { return known[i - 1] / known[i]; });
  steps.resize(std::min(steps.size(), kMaxKinds));
  std::ranges::sort(steps);
  for (const std::size_t i : steps) speeds.push_back(known[i]);
  devices.assign(speeds.size(), 0);
  for (const Device& device : cluster.devices) {
    std::size_t kind = speeds.size() - 1;
    while (kind > 0 && device.speed > speeds[kind]) --kind;
    of.push_back(static_cast<int>(kind));
    ++devices[kind];
  }
}

std::vector<NodeType> node_types(const PlacementProblem& problem, const DeviceKinds& kinds,
                                 int replicas) {
  std::vector<NodeType> types;
  for (const Alike& alike : nodes_alike(problem, kinds))
    types.push_back(type_of(alike, offers(problem, kinds, alike, replicas)));
  return types;
}

}  // namespace penstock::partition
