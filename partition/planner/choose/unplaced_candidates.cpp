#include "partition/planner/choose/unplaced_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"
#include "configs/config.h"
#include "partition/planner/choose/search_limits.h"
#include "partition/planner/choose/stage_memory.h"
#include "partition/planner/placement/bound/bound.h"
#include "partition/planner/placement/infeasible_placement.h"
#include "partition/planner/placement/search.h"

namespace penstock::partition {
namespace {

bool memories_differ(const Cluster& cluster) {
  return std::ranges::any_of(cluster.devices, [&](const Device& device) {
    return device.memory != cluster.devices.front().memory;
  });
}

bool speeds_differ(const Cluster& cluster) {
  return std::ranges::any_of(cluster.devices, [&](const Device& device) {
    return device.speed != cluster.devices.front().speed;
  });
}

PlacementProblem without_memory(PlacementProblem problem) {
  for (Device& device : problem.cluster.devices)
    device.memory = std::numeric_limits<double>::infinity();
  return problem;
}

/// Returns `closed` with memories in the closed form's terms, whose count of bytes is simpler than
/// the runtime's. The ratio of both counts for the cut of `placed` scales all memories.
PlacementProblem with_memory(const PlanningProblem& problem, PlacementProblem closed,
                             const UnplacedCandidate& unplaced, const PlacedSequence& placed) {
  const Candidate candidate{
      .stages = unplaced.grid.stages,
      .replicas = unplaced.grid.replicas,
      .batch = unplaced.batch,
      .recomputed = problem.constraints.recomputed.value_or(ChosenLayers()),
      .selective = problem.constraints.selective,
      .resident = problem.constraints.resident.value_or(0),
      .shards_optimizer =
          problem.constraints.shards_optimizer.value_or(false) && unplaced.grid.replicas > 1,
      .devices = placed.devices};
  const StageMemory memory(problem, candidate);
  double real = 0, simple = 0;
  const auto& begin = placed.cut.begin;
  for (int k = 0; k < candidate.stages; ++k) {
    real += memory.of_chunk(begin[k], begin[k + 1], k);
    simple += closed.sequence.bytes(begin[k], begin[k + 1], in_flight(closed, unplaced.grid, k));
  }
  for (Device& device : closed.cluster.devices) device.memory *= simple / real;
  return closed;
}

/// True if the placement fits into memory. If it is the best without limits, a search with limits
/// finds nothing better.
bool has_room(const PlacementProblem& problem, const PlacedSequence& placed) {
  const std::vector<StageCost> stages = stage_costs(problem, placed.devices);
  for (std::size_t k = 0; k < stages.size(); ++k)
    if (!stages[k].fits(problem.sequence, placed.cut.begin[k], placed.cut.begin[k + 1]))
      return false;
  return true;
}

/// Returns (speed, memory) of a placement's devices: equal ones make equal placements.
std::vector<std::vector<std::pair<double, double>>> sorts_of(const Cluster& cluster,
                                                             const Placement& placement) {
  std::vector<std::vector<std::pair<double, double>>> sorts;
  for (const auto& stage : placement) {
    auto& of_stage = sorts.emplace_back();
    for (const int device : stage)
      of_stage.emplace_back(cluster.devices[device].speed, cluster.devices[device].memory);
  }
  return sorts;
}

/// Returns the same stages in other orders: all orders of a few stages, or the reverse of many.
/// They are tried because the closed form's bytes do not show which stage needs most.
std::vector<Placement> other_orders(const Placement& given) {
  if (given.size() > kLimits.reordered_stages) return {Placement(given.rbegin(), given.rend())};
  std::vector<Placement> orders;
  Placement order = given;
  while (std::ranges::next_permutation(order).found) orders.push_back(order);
  std::ranges::sort(order);
  while (order != given) {
    orders.push_back(order);
    std::ranges::next_permutation(order);
  }
  return orders;
}

}  // namespace

PlacementProblem without_links(PlacementProblem problem) {
  const LinkRates free{.latency = 0, .bandwidth = std::numeric_limits<double>::infinity()};
  std::ranges::fill(problem.cluster.node_links, free);
  std::ranges::fill(problem.cluster.exact_links, free);
  return problem;
}

PlacementProblem closed_form_problem(const PlanningProblem& problem, const Workload& workload,
                                     const BatchDivision& batch) {
  return {.sequence = SequenceLoad(workload.mean, SequenceLoad::Crossing::bytes),
          .cluster = problem.cluster,
          .micro_batches = batch.micro_batches};
}

std::vector<UnplacedCandidate> unplaced_candidates(const PlanningProblem& problem,
                                                   Workloads& workloads) {
  const PlanConstraints& wanted = problem.constraints;
  std::vector<UnplacedCandidate> result;
  const int devices = problem.cluster.size();
  int max_micro_batches = 0;
  for (const BatchDivision& batch : wanted.batches)
    max_micro_batches = std::max(max_micro_batches, batch.micro_batches);
  for (const BatchDivision& batch : wanted.batches) {
    const Workload& workload = workloads.of(batch, 1);
    const PlacementProblem closed = closed_form_problem(problem, workload, batch);
    if (batch.micro_batches == max_micro_batches)
      check_constraints(closed, {.stages = wanted.stages, .replicas = wanted.replicas});
    const Bounds bounds(closed);
    for (int stages = 1; stages <= std::min(closed.sequence.size(), devices); ++stages) {
      if (wanted.stages > 0 && stages != wanted.stages) continue;
      const int max = std::min(devices / stages, batch.micro_batches);
      for (int replicas = 1; replicas <= max; ++replicas) {
        if (wanted.replicas > 0 && replicas != wanted.replicas) continue;
        if (wanted.max_replicas > 0 && replicas > wanted.max_replicas) continue;
        const Grid grid{stages, replicas};
        result.push_back({batch, grid, bounds.quick(grid) / workload.audio_seconds});
      }
    }
  }
  if (wanted.max_replicas > 0 && wanted.replicas > wanted.max_replicas)
    throw ConfigError(
        fmt::format("{} replicas are requested, but trainer.lanes = {}: every replica needs "
                    "a lane. Set trainer.lanes to {} or more",
                    wanted.replicas, wanted.max_replicas, wanted.replicas));
  std::ranges::stable_sort(result, {}, &UnplacedCandidate::bound);
  return result;
}

std::vector<Placement> placements(const PlanningProblem& problem, const Workload& workload,
                                  const UnplacedCandidate& unplaced) {
  const GridConstraints constraints{unplaced.grid.stages, unplaced.grid.replicas};
  const PlacementProblem closed = closed_form_problem(problem, workload, unplaced.batch);
  const SearchEffort effort{.seed = problem.search.seed,
                            .time = problem.search.time,
                            .proves = problem.cluster.size() <= kLimits.proven_devices};
  const auto fastest = find_placement(without_memory(closed), constraints, effort);
  if (!fastest) return {};
  std::vector<Placement> result{fastest->devices};
  const auto add = [&](const PlacementProblem& variant) {
    if (is_over(problem.search.time)) return;
    const auto found = find_placement(variant, constraints, effort);
    if (found && std::ranges::count(result, found->devices) == 0) result.push_back(found->devices);
  };
  if (speeds_differ(problem.cluster)) add(without_links(without_memory(closed)));
  if (!memories_differ(problem.cluster)) return result;
  const PlacementProblem limited = with_memory(problem, closed, unplaced, *fastest);
  if (!has_room(limited, *fastest)) add(limited);
  for (const Placement& other : other_orders(fastest->devices)) {
    const auto sorts = sorts_of(problem.cluster, other);
    const auto same = [&](const Placement& known) {
      return sorts_of(problem.cluster, known) == sorts;
    };
    if (std::ranges::none_of(result, same)) result.push_back(other);
  }
  return result;
}

}  // namespace penstock::partition
