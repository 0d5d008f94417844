#include "partition/planner/placement/bound/device_classes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>

#include "partition/planner/placement/fastest.h"

namespace penstock::partition {
namespace {

constexpr int kLargestCapacity = 16;  // longer runs cost time and hardly raise the bound

constexpr double kInfinite = std::numeric_limits<double>::infinity();

void take_best(LinkRates& link, const LinkRates& other) {
  link.latency = std::min(link.latency, other.latency);
  link.bandwidth = std::max(link.bandwidth, other.bandwidth);
}

/// True if no node has devices both inside and outside.
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

DeviceClasses::DeviceClasses(const PlacementProblem& problem) : problem_(&problem) {
  const Cluster& cluster = problem.cluster;
  std::vector<bool> inside = fastest(cluster);
  if (!parted_by_nodes(cluster, inside)) inside.assign(cluster.size(), true);
  for (int side = 0; side < 2; ++side, inside.flip())
    if (std::ranges::count(inside, true) > 0) classes_.push_back(class_of(inside));
}

DeviceClasses::Class DeviceClasses::class_of(const std::vector<bool>& member) const {
  const Cluster& cluster = problem_->cluster;
  Class device_class;
  constexpr Links none{.one_way = {.latency = kInfinite, .bandwidth = 0},
                       .crossing = {kInfinite, kInfinite}};
  std::array<Links, 2> links{none, none};  // between nodes, within them
  std::vector<int> in_node(cluster.nodes.size(), 0);
  for (int device = 0; device < cluster.size(); ++device) {
    if (!member[device]) continue;
    device_class.devices.push_back(device);
    device_class.speed = std::max(device_class.speed, cluster.devices[device].speed);
    const int node = cluster.devices[device].node;
    device_class.largest_node = std::max(device_class.largest_node, ++in_node[node]);
    for (int other = 0; other < cluster.size(); ++other) {
      if (other == device) continue;
      const std::size_t kind = cluster.devices[other].node == node ? 1 : 0;
      Links& best = links[kind];
      take_best(best.one_way, cluster.link(device, other));
      take_best(best.one_way, cluster.link(other, device));
      best.crossing = best_of(best.crossing, crossing(*problem_, device, other));
    }
  }
  // If there are no links of a sort, those of the other sort stand in: stages can't use the former.
  const std::array<bool, 2> found{links[0].one_way.bandwidth > 0, links[1].one_way.bandwidth > 0};
  device_class.between = links[found[0] ? 0 : 1];
  device_class.within = links[found[1] ? 1 : 0];
  return device_class;
}

/// Returns the k-th largest memory of some devices; k counts from 1.
double DeviceClasses::memory(const std::vector<int>& devices, std::size_t k) const {
  std::vector<double> memories;
  for (const int device : devices) memories.push_back(problem_->cluster.usable(device));
  std::ranges::nth_element(memories, memories.begin() + static_cast<std::ptrdiff_t>(k - 1),
                           std::greater<>());
  return memories[k - 1];
}

/// Adds the stages of a class, for the last run of stages.runs.
void DeviceClasses::add_stages(const Class& device_class, int replicas, Stages& stages) const {
  std::vector<int> all(problem_->cluster.size());
  std::iota(all.begin(), all.end(), 0);
  // The followed replica is on a device of the class, and all R are on some R devices of the
  // cluster. So no stage has more memory than the class's largest device, or than the R-th largest
  // of all.
  StageClass stage{.run = stages.runs.size() - 1,
                   .per_work = 1 / device_class.speed,
                   .memory = std::min(memory(device_class.devices, 1), memory(all, replicas)),
                   .limited = &device_class == &classes_.front() && classes_.size() > 1};
  const int runs = (problem_->micro_batches + replicas - 1) / replicas;
  if (replicas > 1) {  // with other replicas in other nodes
    stage.reduction = ring(device_class.between.one_way, replicas, runs);
    stages.classes.push_back(stage);
    stage.reduction = ring(device_class.within.one_way, replicas, runs);
  }
  if (replicas > device_class.largest_node) return;
  stage.devices_needed = std::min(replicas, stages.runs.back().capacity);
  stage.memory = memory(device_class.devices, replicas);
  stages.classes.push_back(stage);
}

DeviceClasses::Stages DeviceClasses::of(int replicas) const {
  Stages stages;
  for (const Class& device_class : classes_) {
    RunKind& run = stages.runs.emplace_back(RunKind{.within = device_class.within.crossing,
                                                    .between = device_class.between.crossing,
                                                    .capacity = device_class.largest_node});
    if (run.capacity > kLargestCapacity) {  // too long: every boundary has the best of both links
      run.within.latency = std::min(run.within.latency, run.between.latency);
      run.within.per_unit = std::min(run.within.per_unit, run.between.per_unit);
      run.between = run.within;
      run.capacity = 1;
    }
    add_stages(device_class, replicas, stages);
  }
  if (classes_.size() > 1)
    stages.limited = static_cast<int>(classes_.front().devices.size()) / replicas;
  return stages;
}

std::vector<std::vector<int>> DeviceClasses::devices() const {
  std::vector<std::vector<int>> devices;
  for (const Class& device_class : classes_) devices.push_back(device_class.devices);
  return devices;
}

}  // namespace penstock::partition
