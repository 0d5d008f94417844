#include "partition/planner/placement/heuristics/initial_solutions.h"

#include <deque>
#include <numeric>
#include <random>
#include <utility>

namespace penstock::partition {
namespace {

/// Returns a placement with each replica's pipeline packed into nodes. The rest of a pipeline goes
/// to the node with the fewest free devices that it fits into. If there is none, it takes those of
/// the node with the most.
Placement with_pipelines_packed(const Cluster& cluster, const Grid& grid) {
  std::vector<std::deque<int>> free(cluster.nodes.size());  // [node]: free devices
  for (int device = 0; device < cluster.size(); ++device)
    free[cluster.devices[device].node].push_back(device);
  const auto next_node = [&](std::size_t rest) {
    auto best = free.begin();
    for (auto node = free.begin(); node != free.end(); ++node) {
      const bool fits = node->size() >= rest, best_fits = best->size() >= rest;
      if (fits && best_fits ? node->size() < best->size() : node->size() > best->size())
        best = node;
    }
    return best;
  };
  Placement placement(grid.stages);
  for (int replica = 0; replica < grid.replicas; ++replica)
    for (int k = 0; k < grid.stages;)
      for (auto node = next_node(grid.stages - k); !node->empty() && k < grid.stages; ++k) {
        placement[k].push_back(node->front());
        node->pop_front();
      }
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
  std::vector<int> order(problem.cluster.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<Placement> result{with_pipelines_packed(problem.cluster, grid)};
  if (grid.replicas > 1) result.push_back(dealt(grid, order));
  // Shuffled by hand (Fisher and Yates), since std::shuffle differs between standard libraries.
  std::mt19937_64 numbers(seed);
  for (int i = 0; i < random; ++i) {
    for (std::size_t left = order.size(); left > 1; --left)
      std::swap(order[left - 1], order[numbers() % left]);
    result.push_back(dealt(grid, order));
  }
  return result;
}

}  // namespace penstock::partition
