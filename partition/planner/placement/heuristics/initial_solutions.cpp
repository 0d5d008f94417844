#include "partition/planner/placement/heuristics/initial_solutions.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>
#include <random>

namespace penstock::partition {
namespace {

/// Takes groups of `size` devices out of nodes. The rest of a group goes to the node with the
/// fewest free devices that it fits into. If there is none, it takes the node with the most. Nodes
/// and devices are tried in the given order.
std::vector<std::vector<int>> pack(const Cluster& cluster, const std::vector<int>& order, int size,
                                   int groups) {
  std::vector<std::deque<int>> free;  // [node, in order of appearance]: free devices
  std::vector<int> place(cluster.nodes.size(), -1);
  for (const int device : order) {
    int& node = place[cluster.devices[device].node];
    if (node < 0) {
      node = static_cast<int>(free.size());
      free.emplace_back();
    }
    free[node].push_back(device);
  }
  const auto next_node = [&](std::size_t rest) {
    auto best = free.begin();
    for (auto node = free.begin(); node != free.end(); ++node) {
      const bool fits = node->size() >= rest, best_fits = best->size() >= rest;
      if (fits && best_fits ? node->size() < best->size() : node->size() > best->size())
        best = node;
    }
    return best;
  };
  std::vector<std::vector<int>> result(groups);
  for (auto& group : result)
    while (static_cast<int>(group.size()) < size) {
      auto node = next_node(size - group.size());
      while (!node->empty() && static_cast<int>(group.size()) < size) {
        group.push_back(node->front());
        node->pop_front();
      }
    }
  return result;
}

/// Returns a placement with each replica's pipeline packed into nodes.
Placement with_pipelines_packed(const PlacementProblem& problem, const Grid& grid,
                                const std::vector<int>& order) {
  Placement placement(grid.stages);
  for (const auto& pipeline : pack(problem.cluster, order, grid.stages, grid.replicas))
    for (int k = 0; k < grid.stages; ++k) placement[k].push_back(pipeline[k]);
  return placement;
}

/// Returns a placement that takes devices in order, stage by stage.
Placement dealt(const Grid& grid, const std::vector<int>& order) {
  Placement placement(grid.stages);
  auto next = order.begin();
  for (auto& stage : placement) {
    stage.assign(next, next + grid.replicas);
    next += grid.replicas;
  }
  return placement;
}

}  // namespace

std::vector<Placement> initial_solutions(const PlacementProblem& problem, const Grid& grid,
                                         int random, std::uint64_t seed) {
  const Cluster& cluster = problem.cluster;
  std::vector<int> order(cluster.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int>> orders{order};
  const auto offer = [&](const std::vector<int>& other) {
    if (std::ranges::count(orders, other) == 0) orders.push_back(other);
  };
  std::vector<int> sorted = order;
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [&](int device) { return cluster.devices[device].speed; });
  offer(sorted);
  sorted = order;
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [&](int device) { return cluster.devices[device].memory; });
  offer(sorted);

  std::vector<Placement> result;
  for (const auto& devices : orders) {
    result.push_back(with_pipelines_packed(problem, grid, devices));
    if (grid.replicas > 1) result.push_back(dealt(grid, devices));
    if (grid.replicas > 1) result.push_back(pack(cluster, devices, grid.replicas, grid.stages));
  }
  std::mt19937_64 numbers(seed);
  for (int i = 0; i < random; ++i) {
    for (std::size_t left = order.size(); left > 1; --left)
      std::swap(order[left - 1], order[numbers() % left]);
    result.push_back(dealt(grid, order));
  }
  return result;
}

}  // namespace penstock::partition
