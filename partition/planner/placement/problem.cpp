#include "partition/planner/placement/problem.h"

#include <algorithm>

namespace penstock::partition {

int micro_batches_of(const PlacementProblem& problem, const Grid& grid) {
  return (problem.micro_batches + grid.replicas - 1) / grid.replicas;
}

Goal goal_of(const PlacementProblem& problem, const Grid& grid) {
  if (problem.objective == Objective::bottleneck) return {.sum = 0, .slowest = 1};
  return {.sum = 1, .slowest = micro_batches_of(problem, grid) - 1.0};
}

double min_bottleneck(const PlacementProblem& problem, int replicas) {
  double fastest = 0, all = 0;
  for (const Device& device : problem.cluster.devices) {
    fastest = std::max(fastest, device.speed);
    all += device.speed;
  }
  const SequenceLoad& sequence = problem.sequence;
  // While the slowest stage does one micro-batch, R replicas finish R: R times the work on all
  // devices.
  return std::max(sequence.longest_layer() / fastest,
                  sequence.work(0, sequence.size()) * replicas / all);
}

int in_flight(const PlacementProblem& problem, const Grid& grid, int stage) {
  // 1F1B begins with a forward for each stage from this one on, before its first backward.
  return std::min(micro_batches_of(problem, grid), grid.stages - stage);
}

LinkCost crossing(const PlacementProblem& problem, int from, int to) {
  const LinkRates& there = problem.cluster.link(from, to);
  if (problem.sequence.passes() == 1) return {there.latency, 1 / there.bandwidth};
  const LinkRates& back = problem.cluster.link(to, from);
  return {there.latency + back.latency, 1 / there.bandwidth + 1 / back.bandwidth};
}

LinkCost best_of(const LinkCost& one, const LinkCost& other) {
  return {std::min(one.latency, other.latency), std::min(one.per_unit, other.per_unit)};
}

LinkRates slowest_of_ring(const Cluster& cluster, std::vector<int> devices) {
  std::ranges::sort(devices);
  LinkRates slowest = cluster.link(devices.back(), devices.front());  // it closes the ring
  for (std::size_t i = 1; i < devices.size(); ++i) {
    const LinkRates& link = cluster.link(devices[i - 1], devices[i]);
    slowest.latency = std::max(slowest.latency, link.latency);
    slowest.bandwidth = std::min(slowest.bandwidth, link.bandwidth);
  }
  return slowest;
}

LinkCost ring(const LinkRates& slowest, int replicas, int micro_batches) {
  const double messages = 2.0 * (replicas - 1) / micro_batches;
  return {messages * slowest.latency, messages / replicas / slowest.bandwidth};
}

StageCost stage_cost(const PlacementProblem& problem, const Grid& grid, int stage,
                     const std::vector<int>& before, const std::vector<int>& devices,
                     const std::vector<int>& after) {
  const Cluster& cluster = problem.cluster;
  StageCost cost{.in_flight = in_flight(problem, grid, stage)};
  for (std::size_t r = 0; r < devices.size(); ++r) {
    Pace pace{.per_work = 1 / cluster.devices[devices[r]].speed};
    if (!before.empty()) pace.enter = crossing(problem, before[r], devices[r]);
    if (!after.empty()) pace.leave = crossing(problem, devices[r], after[r]);
    cost.add(pace);
    cost.memory = std::min(cost.memory, cluster.usable(devices[r]));
  }
  if (grid.replicas > 1)
    cost.reduction =
        ring(slowest_of_ring(cluster, devices), grid.replicas, micro_batches_of(problem, grid));
  return cost;
}

std::vector<StageCost> stage_costs(const PlacementProblem& problem, const Placement& placement) {
  const int stages = static_cast<int>(placement.size());
  const Grid grid{stages, static_cast<int>(placement.front().size())};
  const std::vector<int> nobody;
  std::vector<StageCost> costs;
  for (int k = 0; k < stages; ++k)
    costs.push_back(stage_cost(problem, grid, k, k > 0 ? placement[k - 1] : nobody, placement[k],
                               k + 1 < stages ? placement[k + 1] : nobody));
  return costs;
}

}  // namespace penstock::partition
