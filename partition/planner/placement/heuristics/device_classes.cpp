#include "partition/planner/placement/heuristics/device_classes.h"

#include <algorithm>
#include <array>
#include <limits>

#include "partition/planner/placement/fastest.h"

namespace penstock::partition {
namespace {

constexpr int kLargestCapacity = 16;  // longer runs cost time and hardly change the limit
constexpr double kInfinite = std::numeric_limits<double>::infinity();

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

/// Returns the class of the members. Links to devices outside count too, since the next stage may
/// be there.
DeviceClass class_of(const PlacementProblem& problem, const std::vector<bool>& member) {
  const Cluster& cluster = problem.cluster;
  DeviceClass result{.devices = {}, .run = {.per_work = kInfinite}};
  RunKind& run = result.run;
  constexpr LinkCost none{kInfinite, kInfinite};
  std::array<LinkCost, 2> links{none, none};  // between nodes, within them
  std::vector<int> in_node(cluster.nodes.size(), 0);
  for (int device = 0; device < cluster.size(); ++device) {
    if (!member[device]) continue;
    result.devices.push_back(device);
    run.per_work = std::min(run.per_work, 1 / cluster.devices[device].speed);
    run.memory = std::max(run.memory, cluster.usable(device));
    const int node = cluster.devices[device].node;
    run.capacity = std::max(run.capacity, ++in_node[node]);
    for (int other = 0; other < cluster.size(); ++other) {
      if (other == device) continue;
      const std::size_t sort = cluster.devices[other].node == node ? 1 : 0;
      links[sort] = best_of(links[sort], crossing(problem, device, other));
    }
  }
  // If there are no links of a sort, those of the other sort stand in: stages can't use the former.
  const auto exists = [](const LinkCost& link) { return link.latency < kInfinite; };
  run.between = links[exists(links[0]) ? 0 : 1];
  run.within = links[exists(links[1]) ? 1 : 0];
  if (run.capacity > kLargestCapacity) {  // too long: every boundary has the best of both links
    run.within = run.between = best_of(run.within, run.between);
    run.capacity = 1;
  }
  return result;
}

}  // namespace

std::vector<DeviceClass> device_classes(const PlacementProblem& problem) {
  const Cluster& cluster = problem.cluster;
  // A run stays in its node and in its class. If a node had devices of both classes, a run could
  // change the class within the node, which RunCount does not count.
  std::vector<bool> inside = fastest(cluster);
  if (!parted_by_nodes(cluster, inside)) inside.assign(cluster.size(), true);
  std::vector<DeviceClass> classes;
  for (int side = 0; side < 2; ++side, inside.flip())
    if (std::ranges::count(inside, true) > 0) classes.push_back(class_of(problem, inside));
  classes.front().run.limited = classes.size() > 1;
  return classes;
}

RunRequest run_request(const PlacementProblem& problem, const std::vector<DeviceClass>& classes) {
  RunRequest request{.kinds = {},
                     .stages = problem.cluster.size(),
                     .limited = 0,
                     .micro_batches = problem.micro_batches};
  for (const DeviceClass& device_class : classes) request.kinds.push_back(device_class.run);
  if (classes.size() > 1) request.limited = static_cast<int>(classes.front().devices.size());
  return request;
}

}  // namespace penstock::partition
