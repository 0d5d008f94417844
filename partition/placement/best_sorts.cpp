#include "partition/placement/best_sorts.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "partition/placement/fastest.h"

namespace penstock {
namespace {

constexpr int kLongestRun = 16;  // a longer one costs time, and its end hardly counts

/// The least latency and the widest link of some.
struct BestLink {
  LinkRates link{.latency = std::numeric_limits<double>::infinity(), .bandwidth = 0};
  void add(const LinkRates& other) {
    link.latency = std::min(link.latency, other.latency);
    link.bandwidth = std::max(link.bandwidth, other.bandwidth);
  }
  bool found() const { return link.bandwidth > 0; }
};

/// Lets every boundary have the best of both links.
void forget_runs(StageSort& sort) {
  sort.within.latency = std::min(sort.within.latency, sort.between.latency);
  sort.within.per_unit = std::min(sort.within.per_unit, sort.between.per_unit);
  sort.between = sort.within;
  sort.longest_run = 1;
}

/// Whether every node has devices inside or outside alone.
bool parted_by_nodes(const Cluster& cluster, const std::vector<bool>& inside) {
  std::vector<int> seen(cluster.nodes.size(), -1);
  for (int device = 0; device < cluster.size(); ++device) {
    int& node = seen[cluster.devices[device].node];
    if (node >= 0 && node != inside[device]) return false;
    node = inside[device];
  }
  return true;
}

}  // namespace

BestSorts::BestSorts(const PlacementProblem& problem) : problem_(problem) {
  const Cluster& cluster = problem.cluster;
  std::vector<bool> members = fastest(cluster);
  if (!parted_by_nodes(cluster, members)) members.assign(cluster.size(), true);
  sorts_.push_back(sort_of(members));
  members.flip();
  if (std::ranges::count(members, true) > 0) sorts_.push_back(sort_of(members));
}

BestSorts::Sort BestSorts::sort_of(const std::vector<bool>& member) const {
  const Cluster& cluster = problem_.cluster;
  Sort sort;
  BestLink within, between;
  std::vector<int> in_node(cluster.nodes.size(), 0);
  for (int device = 0; device < cluster.size(); ++device) {
    if (!member[device]) continue;
    sort.devices.push_back(device);
    sort.speed = std::max(sort.speed, cluster.devices[device].speed);
    const int node = cluster.devices[device].node;
    sort.largest_node = std::max(sort.largest_node, ++in_node[node]);
    for (int other = 0; other < cluster.size(); ++other) {
      if (other == device) continue;
      BestLink& best = cluster.devices[other].node == node ? within : between;
      best.add(cluster.link(device, other));
      best.add(cluster.link(other, device));
    }
  }
  // Where there are no such links, stages can't have them either.
  sort.within = within.found() ? within.link : between.link;
  sort.between = between.found() ? between.link : within.link;
  return sort;
}

void BestSorts::add_stages(const Sort& sort, int replicas, bool all_alike, Stages& stages) const {
  const Cluster& cluster = problem_.cluster;
  // A stage of alike devices has R of them, another one at least.
  const std::size_t needed = all_alike ? replicas : 1;
  if (sort.devices.size() < needed) return;
  std::vector<double> memories;
  for (const int device : sort.devices) memories.push_back(cluster.usable(device));
  std::ranges::sort(memories, std::greater<>());
  StageSort stage{.per_work = 1 / sort.speed,
                  .within = crossing(problem_, sort.within),
                  .between = crossing(problem_, sort.between),
                  .memory = memories[needed - 1],
                  .scarce = all_alike && sorts_.size() > 1};
  const int runs = (problem_.micro_batches + replicas - 1) / replicas;
  const auto add = [&](int run, const LinkRates& link) {
    StageSort added = stage;
    added.longest_run = run;
    if (replicas > 1) added.reduction = ring(link, replicas, runs);
    if (run > kLongestRun) forget_runs(added);
    stages.sorts.push_back(added);
  };
  if (replicas <= sort.largest_node) add(sort.largest_node / replicas, sort.within);
  if (replicas > 1) add(sort.largest_node, sort.between);
  if (stage.scarce) stages.scarce = static_cast<int>(sort.devices.size()) / replicas;
}

BestSorts::Stages BestSorts::of(int replicas) const {
  Stages stages;
  for (const Sort& sort : sorts_) add_stages(sort, replicas, &sort == &sorts_.front(), stages);
  return stages;
}

std::vector<std::vector<int>> BestSorts::devices() const {
  std::vector<std::vector<int>> devices;
  for (const Sort& sort : sorts_) devices.push_back(sort.devices);
  return devices;
}

}  // namespace penstock
