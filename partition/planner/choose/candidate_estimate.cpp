#include "partition/planner/choose/candidate_estimate.h"

#include <algorithm>
#include <map>
#include <utility>

#include "partition/layout/recomputed_layers.h"
#include "partition/planner/placement/adapters.h"
#include "partition/planner/placement/problem.h"
#include "partition/planner/plan/plan_schedule.h"
#include "partition/planner/simulate/size_order.h"
#include "partition/planner/simulate/step_estimate.h"
#include "partition/schedule/csv/rows.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

/// Number of replicas that share an optimizer update.
int sharers(const Candidate& candidate) {
  return candidate.shards_optimizer ? candidate.replicas : 1;
}

/// Cost of a ring reduce-scatter or all-gather over a stage's replicas: half of an all-reduce.
LinkCost half_a_ring(const PlanningProblem& problem, const Candidate& candidate, int stage) {
  const LinkCost whole =
      ring(slowest_of_rings(problem.cluster, candidate.devices, stage), candidate.replicas, 1);
  return {whole.latency / 2, whole.per_unit / 2};
}

/// Seconds of each stage's work once per step, such as the update, on a device of speed 1.
std::vector<double> once_seconds(const PlanningProblem& problem, const Workload& workload,
                                 const Candidate& candidate, const std::vector<int>& ranks) {
  std::vector<double> seconds(candidate.stages, problem.model.step_s);
  for (std::size_t chunk = 0; chunk < ranks.size(); ++chunk)
    for (int layer = candidate.begin[chunk]; layer < candidate.begin[chunk + 1]; ++layer)
      seconds[ranks[chunk]] += problem.model.parameter_s *
                               workload.mean.layers[layer].parameter_bytes / sizeof(float) /
                               sharers(candidate);
  return seconds;
}

/// Seconds of each stage's all-gather after a sharded update. It moves the parameters in the type
/// in which layers read them.
std::vector<double> gather_seconds(const PlanningProblem& problem, const Workload& workload,
                                   const Candidate& candidate, const std::vector<int>& ranks) {
  std::vector<double> seconds(candidate.stages, 0);
  for (std::size_t chunk = 0; chunk < ranks.size(); ++chunk) {
    const LinkCost way = half_a_ring(problem, candidate, ranks[chunk]);
    for (int layer = candidate.begin[chunk]; layer < candidate.begin[chunk + 1]; ++layer)
      if (workload.read_bytes[layer] > 0)
        seconds[ranks[chunk]] += way.seconds(workload.read_bytes[layer]);
  }
  return seconds;
}

/// Seconds that each stage computes in a replica's step.
std::vector<double> busy_seconds(const StepEstimate& step, const std::vector<int>& ranks,
                                 int stages) {
  std::vector<double> busy(stages, 0);
  for (std::size_t chunk = 0; chunk < ranks.size(); ++chunk)
    for (const ChunkTimes& times : step.times()[chunk]) busy[ranks[chunk]] += times.total();
  return busy;
}

/// Bandwidth to the host of each chunk's device, for one replica.
std::vector<double> host_bandwidths(const PlanningProblem& problem, const Candidate& candidate,
                                    const std::vector<int>& ranks, int replica) {
  std::vector<double> bandwidths;
  for (const int stage : ranks)
    bandwidths.push_back(problem.cluster.devices[candidate.devices[stage][replica]].host_bandwidth);
  return bandwidths;
}

/// The time of a step over several replicas.
struct Period {
  double seconds = 0;
  int slowest = 0;  // replica
};

/// Returns the time of a step of several replicas. That is the slowest one's, unless adapters are
/// shared: then all are simulated together.
Period joint_period_of(const PlanningProblem& problem, const Candidate& candidate,
                       const std::vector<PredictedPipeline*>& pipelines,
                       const std::vector<int>& replicas) {
  Period period;
  if (pipelines.empty()) return period;
  if (problem.cluster.adapters.empty()) {
    for (std::size_t i = 0; i < pipelines.size(); ++i) {
      const double seconds = pipelines[i]->period(problem.constraints.barrier);
      if (seconds > period.seconds) period = {seconds, replicas[i]};
    }
    return period;
  }
  std::vector<const StepEstimate*> all;
  for (const PredictedPipeline* pipeline : pipelines) all.push_back(&pipeline->step());
  Placement placement(candidate.devices.size());
  for (std::size_t k = 0; k < placement.size(); ++k)
    for (const int replica : replicas) placement[k].push_back(candidate.devices[k][replica]);
  period.seconds =
      joint_period(all, shared_adapters(problem.cluster, placement), problem.constraints.barrier);
  return period;
}

}  // namespace

std::vector<double> offloaded_bytes(const PlanningProblem& problem, const Candidate& candidate) {
  std::vector<double> bytes(candidate.begin.size() - 1, 0);
  if (candidate.resident == 0) return bytes;
  const ChunkBytes memory = problem.model.bytes(candidate);
  for (std::size_t chunk = 0; chunk < bytes.size(); ++chunk)
    bytes[chunk] =
        memory.kept(candidate.begin[chunk], candidate.begin[chunk + 1], static_cast<int>(chunk));
  return bytes;
}

std::vector<int> ranks_of_chunks(const Candidate& candidate) {
  if (candidate.actions.empty()) return chunk_ranks(candidate.schedule, candidate.stages);
  std::vector<int> ranks(candidate.begin.size() - 1);
  for (int stage = 0; stage < std::ssize(candidate.actions); ++stage)
    for (const auto& row : parse_rows(candidate.actions[stage], candidate.schedule))
      for (const Cell& cell : row) ranks.at(cell.chunk) = stage;
  return ranks;
}

RunSchedule schedule_of(const Candidate& candidate, const std::shared_ptr<ScheduleCache>& known) {
  if (candidate.schedule != kFound)
    return RunSchedule(candidate.schedule, candidate.stages, known).resident(candidate.resident);
  Schedule lists = lists_of(candidate.actions);
  auto sizes = order_of_replica(candidate.batch.order, candidate.replicas, lists.micro_batches);
  return RunSchedule(std::move(lists), std::move(sizes)).resident(candidate.resident);
}

CandidateLists::CandidateLists(const Candidate& candidate,
                               const std::shared_ptr<ScheduleCache>& known)
    : schedule_(schedule_of(candidate, known)),
      ranks_(candidate.actions.empty() ? schedule_.chunk_ranks() : ranks_of_chunks(candidate)) {}

const Schedule& CandidateLists::of(int micro_batches) {
  const auto [at, fresh] = known_.try_emplace(micro_batches);
  if (fresh) at->second = schedule_.of(micro_batches);
  return at->second;
}

std::vector<double> reduction_seconds(const PlanningProblem& problem, const Workload& workload,
                                      const Candidate& candidate, const CandidateLists& lists,
                                      const std::vector<LayerCost>& last, int replica) {
  const auto& ranks = lists.ranks();
  std::vector<double> seconds(ranks.size(), 0);
  for (std::size_t chunk = 0; chunk < ranks.size(); ++chunk) {
    const int device = candidate.devices[ranks[chunk]][replica];
    const bool owned = sharers(candidate) > 1 && !problem.constraints.adds_whole_gradients;
    LinkCost reduction = half_a_ring(problem, candidate, ranks[chunk]);
    if (!owned) reduction = {2 * reduction.latency, 2 * reduction.per_unit};
    double computed = 0, added = 0;
    for (int layer = candidate.begin[chunk + 1] - 1; layer >= candidate.begin[chunk]; --layer) {
      const LayerCost& cost = last[layer];
      computed += (cost.backward_weight + (lists.splits_backward() ? 0 : cost.backward_input)) /
                  problem.cluster.devices[device].speed;
      const double bytes = workload.mean.layers[layer].parameter_bytes;
      if (bytes > 0) added = std::max(added, computed) + reduction.seconds(bytes);
    }
    seconds[chunk] = std::max(0.0, added - computed);
  }
  return seconds;
}

double longest_update(const PlanningProblem& problem, const Workload& workload,
                      const Candidate& candidate) {
  Candidate whole = candidate;
  whole.shards_optimizer = false;
  const auto seconds = once_seconds(problem, workload, whole, ranks_of_chunks(whole));
  double longest = 0;
  for (int stage = 0; stage < candidate.stages; ++stage)
    for (const int device : candidate.devices[stage])
      longest = std::max(longest, seconds[stage] / problem.cluster.devices[device].speed);
  return longest;
}

/// A simulated step has these costs beyond the passes and messages: copies of offloaded
/// activations, gradient reduction after a chunk's last backward, and the optimizer's update once
/// per step. If the update is sharded, an all-gather of parameters is added to it.
std::unique_ptr<StepEstimate> CandidateEstimator::predict(
    const Candidate& candidate, const ReplicaStep& of, CandidateLists& lists,
    const std::vector<double>& offloaded) const {
  const int replica = of.replica;
  const StepCosts& costs = workload_.steps[of.step].replicas[replica];
  StepLayout layout{.begin = candidate.begin, .schedule = lists.of(costs.micro_batches())};
  layout.recomputed = candidate.recomputed;
  if (candidate.resident > 0)
    layout.copy_seconds =
        copy_seconds(costs, candidate.begin,
                     {offloaded, host_bandwidths(problem_, candidate, lists.ranks(), replica)});
  if (candidate.replicas > 1)
    layout.reduce_seconds =
        reduction_seconds(problem_, workload_, candidate, lists,
                          with_recomputation(costs.layers.back(), candidate.recomputed), replica);
  layout.step_seconds = once_seconds(problem_, workload_, candidate, lists.ranks());
  for (int stage = 0; stage < candidate.stages; ++stage) {
    const Device& device = problem_.cluster.devices[candidate.devices[stage][replica]];
    layout.speeds.push_back(device.speed);
    layout.step_seconds[stage] /= device.speed;
  }
  if (sharers(candidate) > 1) {
    const auto gathered = gather_seconds(problem_, workload_, candidate, lists.ranks());
    for (int stage = 0; stage < candidate.stages; ++stage)
      layout.step_seconds[stage] += gathered[stage];
  }
  layout.overlap = problem_.cluster.overlap;
  layout.link = [&cluster = problem_.cluster, devices = candidate.devices, replica](int from,
                                                                                    int to) {
    return cluster.link(devices[from][replica], devices[to][replica]);
  };
  return std::make_unique<StepEstimate>(costs, std::move(layout));
}

/// Lists of a found schedule replace the cached ones: they are seldom estimated twice.
CandidateLists& CandidateEstimator::lists_of(const Candidate& candidate) {
  std::unique_ptr<CandidateLists>& known =
      lists_[{candidate.schedule, candidate.stages, candidate.resident}];
  if (!known || !candidate.actions.empty())
    known = std::make_unique<CandidateLists>(candidate, problem_.known_schedules);
  return *known;
}

double CandidateEstimator::min_seconds(const Candidate& candidate, double enough,
                                       const std::vector<int>& slowest, PredictedPipelines& known) {
  CandidateLists& lists = lists_of(candidate);
  const auto offloaded = offloaded_bytes(problem_, candidate);
  const auto steps = static_cast<double>(workload_.steps.size());
  double sum = 0;
  for (std::size_t s = 0; s < slowest.size(); ++s) {
    if (workload_.steps[s].replicas[slowest[s]].micro_batches() == 0) continue;
    PredictedPipeline& pipeline = known[{s, slowest[s]}];
    if (!pipeline.is_predicted())
      pipeline = PredictedPipeline(predict(candidate, {s, slowest[s]}, lists, offloaded));
    sum += pipeline.period(problem_.constraints.barrier);
    if (sum >= enough * steps) break;
  }
  return sum / steps;
}

bool CandidateEstimator::takes(const Candidate& candidate, double seconds,
                               const std::vector<int>& slowest, PredictedPipelines& known) {
  if (!problem_.cluster.adapters.empty()) return false;
  return min_seconds(candidate, seconds, slowest, known) >= seconds;
}

CandidateEstimate CandidateEstimator::estimate(const Candidate& candidate, std::size_t max_steps,
                                               PredictedPipelines known) {
  const std::size_t steps = std::min(max_steps, workload_.steps.size());
  const double share = 1.0 / static_cast<double>(steps);
  CandidateEstimate estimate;
  estimate.busy.assign(candidate.stages, 0);
  CandidateLists& lists = lists_of(candidate);
  const auto offloaded = offloaded_bytes(problem_, candidate);
  for (std::size_t s = 0; s < steps; ++s) {
    estimate.audio_seconds += share * workload_.steps[s].audio_seconds;
    std::vector<PredictedPipeline*> pipelines;
    std::vector<int> replicas;
    std::vector<double> max(candidate.stages, 0);
    for (int replica = 0; replica < candidate.replicas; ++replica) {
      if (workload_.steps[s].replicas[replica].micro_batches() == 0) continue;
      PredictedPipeline& pipeline = known[{s, replica}];
      if (!pipeline.is_predicted())
        pipeline = PredictedPipeline(predict(candidate, {s, replica}, lists, offloaded));
      pipelines.push_back(&pipeline);
      replicas.push_back(replica);
      const auto busy = busy_seconds(pipeline.step(), lists.ranks(), candidate.stages);
      for (int k = 0; k < candidate.stages; ++k) max[k] = std::max(max[k], busy[k]);
    }
    const Period period = joint_period_of(problem_, candidate, pipelines, replicas);
    estimate.step_seconds += share * period.seconds;
    estimate.slowest.push_back(period.slowest);
    for (int k = 0; k < candidate.stages; ++k) estimate.busy[k] += share * max[k];
    known.erase(known.begin(), known.lower_bound({s + 1, 0}));
  }
  return estimate;
}

std::unique_ptr<StepEstimate> predict_replica(const PlanningProblem& problem,
                                              const Workload& workload, const Candidate& candidate,
                                              const ReplicaStep& of,
                                              const std::vector<double>& offloaded) {
  CandidateLists lists(candidate, problem.known_schedules);
  return CandidateEstimator(problem, workload).predict(candidate, of, lists, offloaded);
}

CandidateEstimate estimate_candidate(const PlanningProblem& problem, const Workload& workload,
                                     const Candidate& candidate, std::size_t max_steps) {
  return CandidateEstimator(problem, workload).estimate(candidate, max_steps);
}

}  // namespace penstock::partition
