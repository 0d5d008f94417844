#include "partition/placement/bound/best_sorts.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "partition/placement/fastest.h"

namespace penstock {
namespace {

constexpr int kMostRoom = 16;  // a longer run costs time, and its end hardly counts

/// The least latency and the widest link of some.
struct BestLink {
  LinkRates link{.latency = std::numeric_limits<double>::infinity(), .bandwidth = 0};
  void add(const LinkRates& other) {
    link.latency = std::min(link.latency, other.latency);
    link.bandwidth = std::max(link.bandwidth, other.bandwidth);
  }
  bool found() const { return link.bandwidth > 0; }
};

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

/// The k-th largest memory of some devices, from 1.
double BestSorts::memory(const std::vector<int>& devices, std::size_t k) const {
  std::vector<double> memories;
  for (const int device : devices) memories.push_back(problem_.cluster.usable(device));
  std::ranges::nth_element(memories, memories.begin() + static_cast<std::ptrdiff_t>(k - 1),
                           std::greater<>());
  return memories[k - 1];
}

/// In the run that stages.runs ends with.
void BestSorts::add_stages(const Sort& sort, int replicas, Stages& stages) const {
  std::vector<int> all(problem_.cluster.size());
  std::iota(all.begin(), all.end(), 0);
  StageSort stage{.run = stages.runs.size() - 1,
                  .per_work = 1 / sort.speed,
                  .memory = std::min(memory(sort.devices, 1), memory(all, replicas)),
                  .scarce = &sort == &sorts_.front() && sorts_.size() > 1};
  const int runs = (problem_.micro_batches + replicas - 1) / replicas;
  if (replicas > 1) {  // with others elsewhere
    stage.reduction = ring(sort.between, replicas, runs);
    stages.sorts.push_back(stage);
    stage.reduction = ring(sort.within, replicas, runs);
  }
  if (replicas > sort.largest_node) return;
  stage.takes = std::min(replicas, stages.runs.back().room);
  stage.memory = memory(sort.devices, replicas);
  stages.sorts.push_back(stage);
}

BestSorts::Stages BestSorts::of(int replicas) const {
  Stages stages;
  for (const Sort& sort : sorts_) {
    RunKind& run = stages.runs.emplace_back(RunKind{.within = crossing(problem_, sort.within),
                                                    .between = crossing(problem_, sort.between),
                                                    .room = sort.largest_node});
    if (run.room > kMostRoom) {  // every boundary has the best of both links
      run.within.latency = std::min(run.within.latency, run.between.latency);
      run.within.per_unit = std::min(run.within.per_unit, run.between.per_unit);
      run.between = run.within;
      run.room = 1;
    }
    add_stages(sort, replicas, stages);
  }
  if (sorts_.size() > 1) stages.scarce = static_cast<int>(sorts_.front().devices.size()) / replicas;
  return stages;
}

std::vector<std::vector<int>> BestSorts::devices() const {
  std::vector<std::vector<int>> devices;
  for (const Sort& sort : sorts_) devices.push_back(sort.devices);
  return devices;
}

}  // namespace penstock
