#include "partition/planner/choose/problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantities.h"
#include "partition/layout/parameter_layout.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/planner/plan/plan_estimate.h"

namespace penstock::partition {

std::string describe(const Candidate& candidate) {
  std::string text = fmt::format("{} × {}", counted(candidate.stages, "stage"),
                                 counted(candidate.replicas, "replica"));
  if (!candidate.schedule.empty()) text += ", " + candidate.schedule;
  const auto again = std::ranges::count(candidate.recomputed, true);
  if (candidate.selective || again > 0) text += ", recomputing";
  if (again > 0 && again < std::ssize(candidate.recomputed))
    text += fmt::format(" {}{}", candidate.selective ? "within layers and " : "",
                        counted(static_cast<std::size_t>(again), "layer"));
  else if (again == 0 && candidate.selective)
    text += " within layers";
  if (candidate.resident > 0) text += fmt::format(", offloading all but {}", candidate.resident);
  if (candidate.shards_optimizer) text += ", optimizer sharded over replicas";
  return fmt::format("{}, {} × {:.4g} s", text, candidate.batch.micro_batches,
                     candidate.batch.seconds);
}

namespace {

double seconds_of(const std::vector<LayerCost>& layers) {
  double seconds = 0;
  for (const LayerCost& layer : layers) seconds += layer.total();
  return seconds;
}

/// Seconds of a micro-batch to the loss and back. Weight gradients do not count: they may wait.
double there_and_back(const std::vector<LayerCost>& layers) {
  double seconds = 0;
  for (const LayerCost& layer : layers) seconds += layer.forward + layer.backward_input;
  return seconds;
}

/// Adds a micro-batch with weight `share` to the mean.
void add(SequenceProfile& mean, const std::vector<LayerCost>& layers,
         const std::vector<double>& bytes, double share) {
  for (std::size_t i = 0; i < mean.layers.size(); ++i) {
    const LayerCost& cost = layers[i];
    LayerProfile& layer = mean.layers[i];
    layer.name = cost.layer;
    layer.forward_ms += share * 1e3 * cost.forward;
    layer.backward_ms += share * 1e3 * (cost.backward_input + cost.backward_weight);
    layer.activation_bytes += share * bytes[i];
  }
}

/// Fills the sums and means of a workload from its steps.
void sum_up(Workload& workload, const ChosenLayers& recomputed) {
  double micro_batches = 0;
  for (const auto& step : workload.steps)
    for (const StepCosts& costs : step.replicas) micro_batches += costs.micro_batches();
  const double share = 1.0 / static_cast<double>(workload.steps.size());
  for (const auto& step : workload.steps) {
    workload.audio_seconds += share * step.audio_seconds;
    double longest = 0;
    for (const StepCosts& costs : step.replicas)
      for (int m = 0; m < costs.micro_batches(); ++m) {
        const auto layers = with_recomputation(costs.layers[m], recomputed);
        workload.work += share * seconds_of(layers);
        longest = std::max(longest, there_and_back(layers));
        add(workload.mean, layers, costs.bytes[m], 1 / micro_batches);
      }
    workload.longest += share * longest;
  }
}

}  // namespace

std::vector<double> parameter_bytes(const LayerSequence& sequence) {
  std::vector<double> bytes;
  for (const std::int64_t count : trained_parameters(sequence))
    bytes.push_back(static_cast<double>(count * layers::size_of(layers::DType::f32)));
  return bytes;
}

std::vector<double> read_parameter_bytes(const LayerSequence& sequence, layers::DType compute) {
  std::vector<double> bytes;
  for (const layers::LayerPlan& plan : plan_without_frames(sequence, {})) {
    double of_layer = 0;
    for (const layers::ParamDecl& param : plan.params)
      if (param.summed)
        of_layer += static_cast<double>(layers::element_count(param.shape)) *
                    layers::size_of(has_copy(param, compute) ? compute : layers::DType::f32);
    bytes.push_back(of_layer);
  }
  return bytes;
}

const StepCosts& Workloads::costs_of(const MicroBatchLengths& lengths, bool selective) {
  return micro_batches_.of({lengths.frames, lengths.labels, selective}, [&] {
    const CostModel& costs = selective ? problem_.model.selective_costs : problem_.model.costs;
    return StepCosts{
        .layers = {costs(lengths)},
        .bytes = {messages_->of(*problem_.model.sequence, problem_.model.sizes, lengths)}};
  });
}

Workload::Step Workloads::with_costs(const SampledStep& sampled, int replicas, bool selective) {
  Workload::Step step{.audio_seconds = sampled.audio_seconds};
  step.replicas.resize(static_cast<std::size_t>(replicas));
  for (std::size_t i = 0; i < sampled.micro_batches.size(); ++i) {
    const MicroBatchLengths& lengths = sampled.micro_batches[i];
    const StepCosts& one = costs_of(lengths, selective);
    StepCosts& costs = step.replicas[static_cast<std::size_t>(sampled.replica[i])];
    costs.layers.push_back(one.layers.front());
    costs.bytes.push_back(one.bytes.front());
    costs.reading.push_back(problem_.model.reading.of(lengths));
  }
  return step;
}

const Workload& Workloads::of(const BatchDivision& batch, int replicas, bool selective) {
  return known_.of({batch, replicas, selective}, [&] { return make(batch, replicas, selective); });
}

Workload Workloads::make(const BatchDivision& batch, int replicas, bool selective) {
  Workload workload;
  for (const SampledStep& sampled : problem_.model.sample(batch, replicas))
    workload.steps.push_back(with_costs(sampled, replicas, selective));
  const std::vector<double> parameters = parameter_bytes(*problem_.model.sequence);
  for (const double bytes : parameters)
    workload.mean.layers.push_back({.name = "", .parameter_bytes = bytes});
  workload.read_bytes =
      read_parameter_bytes(*problem_.model.sequence, problem_.model.sizes.compute);
  sum_up(workload, problem_.constraints.recomputed.value_or(ChosenLayers()));
  return workload;
}

}  // namespace penstock::partition
