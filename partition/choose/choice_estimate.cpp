#include "partition/choose/choice_estimate.h"

#include <algorithm>
#include <map>
#include <utility>

#include "partition/choose/find_choice.h"
#include "partition/model/recomputed_layers.h"
#include "partition/placement/adapters.h"
#include "partition/placement/problem.h"
#include "partition/schedule/csv/rows.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

/// Once a step, of each stage on a device of speed 1.
std::vector<double> once_seconds(const PlanningProblem& problem, const Workload& workload,
                                 const PlanChoice& choice) {
  std::vector<double> seconds(choice.stages, problem.step_s);
  const auto ranks = ranks_of_chunks(choice);
  for (std::size_t chunk = 0; chunk < ranks.size(); ++chunk)
    for (int layer = choice.begin[chunk]; layer < choice.begin[chunk + 1]; ++layer)
      seconds[ranks[chunk]] +=
          problem.parameter_s * workload.mean.layers[layer].parameter_bytes / sizeof(float);
  return seconds;
}

/// Seconds of each stage's passes in a replica's step.
std::vector<double> busy_seconds(const StepEstimate& step, const std::vector<int>& ranks,
                                 int stages) {
  std::vector<double> busy(stages, 0);
  for (std::size_t chunk = 0; chunk < ranks.size(); ++chunk)
    for (const ChunkTimes& times : step.times()[chunk]) busy[ranks[chunk]] += times.total();
  return busy;
}

/// [chunk][micro-batch]: what a micro-batch keeps goes as what leaves the chunk.
std::vector<std::vector<double>> copy_seconds(const PlanningProblem& problem,
                                              const PlanChoice& choice, const StepCosts& costs,
                                              const std::vector<double>& offloaded, int replica) {
  const auto ranks = ranks_of_chunks(choice);
  std::vector<std::vector<double>> seconds;
  for (std::size_t chunk = 0; chunk < offloaded.size(); ++chunk) {
    const auto last = static_cast<std::size_t>(choice.begin[chunk + 1] - 1);
    const Device& device = problem.cluster.devices[choice.devices[ranks[chunk]][replica]];
    std::vector<double>& of_chunk = seconds.emplace_back();
    double most = 0;
    for (const auto& of_layers : costs.bytes) most = std::max(most, of_layers[last]);
    for (const auto& of_layers : costs.bytes) {
      const double share = most > 0 ? of_layers[last] / most : 1;
      of_chunk.push_back(share * offloaded[chunk] / device.host_bandwidth);
    }
  }
  return seconds;
}

/// predict_replica() with the lists of its step.
std::unique_ptr<StepEstimate> predict(const PlanningProblem& problem, const Workload& workload,
                                      const PlanChoice& choice, const ReplicaStep& of,
                                      const std::vector<double>& offloaded, Schedule schedule) {
  const int replica = of.replica;
  const StepCosts& costs = workload.steps[of.step].replicas[replica];
  StepLayout layout{.begin = choice.begin, .schedule = std::move(schedule)};
  layout.recomputed = choice.recomputed;
  if (choice.resident > 0)
    layout.copy_seconds = copy_seconds(problem, choice, costs, offloaded, replica);
  if (choice.replicas > 1)
    layout.reduce_seconds =
        reduction_seconds(problem, workload, choice,
                          with_recomputation(costs.layers.back(), choice.recomputed), replica);
  layout.step_seconds = once_seconds(problem, workload, choice);
  for (int stage = 0; stage < choice.stages; ++stage) {
    const Device& device = problem.cluster.devices[choice.devices[stage][replica]];
    layout.speeds.push_back(device.speed);
    layout.step_seconds[stage] /= device.speed;
  }
  layout.overlap = problem.cluster.overlap;
  layout.link = [&problem, devices = choice.devices, replica](int from, int to) {
    return problem.cluster.link(devices[from][replica], devices[to][replica]);
  };
  return std::make_unique<StepEstimate>(costs, std::move(layout));
}

/// Pipelines of some replicas, which take as long as the slowest, or share adapters.
double period_of(const PlanningProblem& problem, const PlanChoice& choice,
                 const std::vector<std::unique_ptr<StepEstimate>>& steps,
                 const std::vector<int>& replicas) {
  double slowest = 0;
  if (problem.cluster.adapters.empty()) {
    for (const auto& step : steps) slowest = std::max(slowest, step->period(problem.barrier));
    return slowest;
  }
  std::vector<const StepEstimate*> all;
  for (const auto& step : steps) all.push_back(step.get());
  Placement placement(choice.devices.size());
  for (std::size_t k = 0; k < placement.size(); ++k)
    for (const int replica : replicas) placement[k].push_back(choice.devices[k][replica]);
  return joint_period(all, shared_adapters(problem.cluster, placement), problem.barrier);
}

}  // namespace

std::vector<double> offloaded_bytes(const PlanningProblem& problem, const PlanChoice& choice) {
  std::vector<double> bytes(choice.begin.size() - 1, 0);
  if (choice.resident == 0) return bytes;
  const ChunkBytes memory = problem.bytes(choice);
  for (std::size_t chunk = 0; chunk < bytes.size(); ++chunk) {
    const auto at = static_cast<int>(chunk);
    const ChunkBuffers one =
        memory.holding({.host = 1}).buffers(choice.begin[chunk], choice.begin[chunk + 1], at);
    bytes[chunk] = static_cast<double>(one.host);
  }
  return bytes;
}

std::vector<int> ranks_of_chunks(const PlanChoice& choice) {
  if (choice.actions.empty()) return chunk_ranks(choice.schedule, choice.stages);
  std::vector<int> ranks(choice.begin.size() - 1);
  for (int stage = 0; stage < std::ssize(choice.actions); ++stage)
    for (const auto& row : parse_rows(choice.actions[stage], choice.schedule))
      for (const Cell& cell : row) ranks.at(cell.chunk) = stage;
  return ranks;
}

std::vector<double> reduction_seconds(const PlanningProblem& problem, const Workload& workload,
                                      const PlanChoice& choice, const std::vector<LayerCost>& last,
                                      int replica) {
  const auto ranks = ranks_of_chunks(choice);
  std::vector<double> seconds(ranks.size(), 0);
  const bool splits = schedule_of(choice).splits_backward();
  for (std::size_t chunk = 0; chunk < ranks.size(); ++chunk) {
    const int device = choice.devices[ranks[chunk]][replica];
    const LinkCost reduction =
        ring(slowest_of_rings(problem.cluster, choice.devices, ranks[chunk]), choice.replicas, 1);
    double computed = 0, added = 0;
    for (int layer = choice.begin[chunk + 1] - 1; layer >= choice.begin[chunk]; --layer) {
      const LayerCost& cost = last[layer];
      computed += (cost.backward_weight + (splits ? 0 : cost.backward_input)) /
                  problem.cluster.devices[device].speed;
      const double bytes = workload.mean.layers[layer].parameter_bytes;
      if (bytes > 0) added = std::max(added, computed) + reduction.seconds(bytes);
    }
    seconds[chunk] = std::max(0.0, added - computed);
  }
  return seconds;
}

std::unique_ptr<StepEstimate> predict_replica(const PlanningProblem& problem,
                                              const Workload& workload, const PlanChoice& choice,
                                              const ReplicaStep& of,
                                              const std::vector<double>& offloaded) {
  const int own = workload.steps[of.step].replicas[of.replica].micro_batches();
  return predict(problem, workload, choice, of, offloaded, schedule_of(choice).of(own));
}

ChoiceEstimate estimate_choice(const PlanningProblem& problem, const Workload& workload,
                               const PlanChoice& choice, std::size_t most_steps) {
  const std::size_t steps = std::min(most_steps, workload.steps.size());
  const double share = 1.0 / static_cast<double>(steps);
  ChoiceEstimate estimate;
  estimate.busy.assign(choice.stages, 0);
  const auto ranks = ranks_of_chunks(choice);
  const RunSchedule schedule = schedule_of(choice);
  const auto offloaded = offloaded_bytes(problem, choice);
  std::map<int, Schedule> lists;  // by micro-batches: most replicas have as many
  for (std::size_t s = 0; s < steps; ++s) {
    estimate.audio_seconds += share * workload.steps[s].audio_seconds;
    std::vector<std::unique_ptr<StepEstimate>> pipelines;
    std::vector<int> replicas;
    std::vector<double> most(choice.stages, 0);
    for (int replica = 0; replica < choice.replicas; ++replica) {
      const int own = workload.steps[s].replicas[replica].micro_batches();
      if (own == 0) continue;
      const auto [at, fresh] = lists.try_emplace(own);
      if (fresh) at->second = schedule.of(own);
      pipelines.push_back(predict(problem, workload, choice, {s, replica}, offloaded, at->second));
      replicas.push_back(replica);
      const auto busy = busy_seconds(*pipelines.back(), ranks, choice.stages);
      for (int k = 0; k < choice.stages; ++k) most[k] = std::max(most[k], busy[k]);
    }
    if (!pipelines.empty())
      estimate.step_seconds += share * period_of(problem, choice, pipelines, replicas);
    for (int k = 0; k < choice.stages; ++k) estimate.busy[k] += share * most[k];
  }
  return estimate;
}

}  // namespace penstock::partition
