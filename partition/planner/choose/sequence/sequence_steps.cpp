#include "partition/planner/choose/sequence/sequence_steps.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "partition/planner/placement/adapters.h"
#include "partition/schedule/in_flight.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

constexpr int kMaxPasses = 2048;      // stages × micro-batches of all replicas that differ
constexpr double kFaster = 1 - 1e-9;  // of a step; a smaller gain counts as none

/// Returns the layers of a stage as one layer. Half of backward is input gradients, by assumption.
LayerCost work_of(const SequenceProfile& profile, int first, int last) {
  LayerCost cost;
  for (int i = first; i < last; ++i) {
    cost.forward += profile.layers[i].forward_ms / 1e3;
    cost.backward_input += profile.layers[i].backward_ms / 2e3;
    cost.backward_weight += profile.layers[i].backward_ms / 2e3;
  }
  return cost;
}

/// Seconds of a stage's gradient reduction, once per step.
double reduction_seconds(const SequencePlan& plan, int stage) {
  const auto& placed = plan.placed;
  if (placed.grid.replicas == 1) return 0;
  return ring(slowest_of_rings(plan.problem.cluster, placed.devices, stage), placed.grid.replicas,
              1)
      .seconds(
          plan.problem.sequence.parameters(placed.cut.begin[stage], placed.cut.begin[stage + 1]));
}

/// Returns one replica of each kind. Replicas of a kind take equally long. With shared adapters,
/// every replica is a kind of its own.
std::vector<int> replicas_that_differ(const SequencePlan& plan) {
  std::map<std::vector<double>, int> sorts;
  const Cluster& cluster = plan.problem.cluster;
  const Placement& devices = plan.placed.devices;
  for (int replica = 0; replica < plan.placed.grid.replicas; ++replica) {
    std::vector<double> sort{static_cast<double>(plan.runs_of(replica))};
    if (!cluster.adapters.empty()) sort.push_back(replica);
    for (std::size_t k = 0; k < devices.size(); ++k) {
      sort.push_back(cluster.devices[devices[k][replica]].speed);
      if (k == 0) continue;
      const int one = devices[k - 1][replica], two = devices[k][replica];
      for (const LinkRates& link : {cluster.link(one, two), cluster.link(two, one)}) {
        sort.push_back(link.latency);
        sort.push_back(link.bandwidth);
      }
    }
    sorts.try_emplace(std::move(sort), replica);
  }
  std::vector<int> replicas;
  for (const auto& [sort, replica] : sorts) replicas.push_back(replica);
  return replicas;
}

/// Returns the seconds of the slowest replica's step, or of all replicas simulated together if
/// adapters are shared.
double period_of(const SequencePlan& plan, const char* schedule, const std::vector<int>& replicas) {
  const Cluster& cluster = plan.problem.cluster;
  std::vector<std::unique_ptr<StepEstimate>> steps;
  for (const int replica : replicas)
    steps.push_back(predict_sequence_step(plan, schedule, replica));
  double slowest = 0;
  if (cluster.adapters.empty()) {
    for (const auto& step : steps) slowest = std::max(slowest, step->period());
    return slowest;
  }
  std::vector<const StepEstimate*> all(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) all[replicas[i]] = steps[i].get();
  return joint_period(all, shared_adapters(cluster, plan.placed.devices), Barrier::before_step);
}

}  // namespace

int SequencePlan::runs_of(int replica) const {
  const int replicas = placed.grid.replicas;
  return problem.micro_batches / replicas + (replica < problem.micro_batches % replicas ? 1 : 0);
}

double SequencePlan::bytes(int stage, int in_flight) const {
  return problem.sequence.bytes(placed.cut.begin[stage], placed.cut.begin[stage + 1], in_flight);
}

double SequencePlan::limit(int stage) const {
  double min = std::numeric_limits<double>::infinity();
  for (const int device : placed.devices[stage])
    min = std::min(min, problem.cluster.usable(device));
  return min;
}

std::unique_ptr<StepEstimate> predict_sequence_step(const SequencePlan& plan,
                                                    const std::string& schedule, int replica) {
  const PlacementProblem& problem = plan.problem;
  const std::vector<int>& begin = plan.placed.cut.begin;
  const int stages = plan.placed.grid.stages, runs = plan.runs_of(replica);
  std::vector<LayerCost> of_stages;
  std::vector<double> bytes;
  StepLayout layout{.begin = {0}, .schedule = make_schedule(schedule, stages, runs)};
  for (int k = 0; k < stages; ++k) {
    of_stages.push_back(work_of(plan.profile, begin[k], begin[k + 1]));
    // One message: half of a profile's transfer time, which covers both directions.
    bytes.push_back(problem.sequence.crossing(begin[k + 1]) * problem.sequence.passes() / 2);
    layout.begin.push_back(k + 1);
    layout.speeds.push_back(problem.cluster.devices[plan.placed.devices[k][replica]].speed);
    layout.reduce_seconds.push_back(reduction_seconds(plan, k));
  }
  if (problem.sequence.recomputes()) layout.recomputed.assign(stages, true);
  layout.overlap = problem.cluster.overlap;
  layout.link = [&problem, &placed = plan.placed, replica](int from, int to) {
    return problem.cluster.link(placed.devices[from][replica], placed.devices[to][replica]);
  };
  StepCosts costs;
  costs.layers.assign(runs, of_stages);
  costs.bytes.assign(runs, bytes);
  return std::make_unique<StepEstimate>(costs, std::move(layout));
}

std::vector<SequenceStep> sequence_steps(const SequencePlan& plan) {
  const int stages = plan.placed.grid.stages;
  const std::vector<int> replicas = replicas_that_differ(plan);
  std::int64_t passes = 0;
  for (const int replica : replicas) passes += std::int64_t{stages} * plan.runs_of(replica);

  std::vector<SequenceStep> steps;
  if (passes > kMaxPasses) {
    SequenceStep& step = steps.emplace_back(SequenceStep{"1f1b"});
    for (int k = 0; k < stages; ++k)
      step.in_flight.push_back(in_flight(plan.problem, plan.placed.grid, k));
    return steps;
  }
  std::size_t best = 0;
  for (const char* name : {"1f1b", "zb-h1", "zb-h2", "gpipe"}) {
    const Schedule lists = make_schedule(name, stages, plan.runs_of(0));
    if (plan.problem.sequence.recomputes() && splits_backward(lists)) continue;
    SequenceStep& step = steps.emplace_back(SequenceStep{name});
    for (int k = 0; k < stages; ++k) {
      step.in_flight.push_back(count_in_flight(lists, k).slots);
      step.fits = step.fits && plan.bytes(k, step.in_flight.back()) <= plan.limit(k);
    }
    step.seconds = period_of(plan, name, replicas);
    if (step.fits && step.seconds < steps[best].seconds * kFaster) best = steps.size() - 1;
  }
  std::rotate(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(best),
              steps.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  return steps;
}

}  // namespace penstock::partition
