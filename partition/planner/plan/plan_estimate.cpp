#include "partition/planner/plan/plan_estimate.h"

#include "partition/layout/layer_sequence.h"
#include "partition/planner/plan/plan_schedule.h"
#include "partition/planner/simulate/step_estimate.h"

namespace penstock::partition {

// Micro-batches are taken as equal and messages as free, as a plan file has neither lengths nor
// links. A stage's idle share is what its actions leave of the makespan.
PlanEstimate estimate_plan(const Plan& plan, const std::vector<LayerCost>& costs) {
  std::vector<int> begin;
  for (const ChunkPlan& chunk : plan.chunks) begin.push_back(chunk.first);
  begin.push_back(static_cast<int>(costs.size()));
  const auto times = chunk_times(begin, costs, plan.recomputed().value_or(ChosenLayers()));
  const Schedule schedule = schedule_of(plan).of(micro_batches_per_replica(plan));
  const Simulation step = simulate(schedule, equal_micro_batches(times));

  PlanEstimate estimate;
  for (const ChunkTimes& chunk : times) estimate.micro_batch_seconds += chunk.total();
  estimate.step_seconds = step.makespan;
  estimate.bound = speedup_bound(schedule, times);
  for (const auto& actions : step.ranks) {
    double busy = 0;
    for (const TimedAction& action : actions) busy += action.end - action.start;
    estimate.idle.push_back(1 - busy / step.makespan);
  }
  return estimate;
}

// Frozen parameters count if they have gradient sums: a profile's parameter_s is the measured time
// divided by the same count.
std::vector<std::int64_t> trained_parameters(const LayerSequence& sequence) {
  std::vector<std::int64_t> counts;
  for (const layers::LayerPlan& plan : plan_without_frames(sequence, {})) {
    std::int64_t& count = counts.emplace_back(0);
    for (const layers::ParamDecl& param : plan.params)
      if (param.summed) count += layers::element_count(param.shape);
  }
  return counts;
}

StepCosts profiled_costs(const DeviceProfile& profile, const LayerSequence& sequence,
                         const layers::BackendSizes& sizes,
                         std::span<const MicroBatchLengths> lengths) {
  StepCosts costs = step_costs(sequence, sizes, fitted_cost_model(profile.layers), lengths);
  for (const MicroBatchLengths& one : lengths) costs.reading.push_back(profile.reading.of(one));
  return costs;
}

// The time of a rank once per step is a constant, and a time for each parameter of its chunks.
StepLayout profiled_layout(const DeviceProfile& profile, const LayerSequence& sequence,
                           const Plan& plan, int micro_batches) {
  StepLayout layout;
  layout.begin = plan.cut();
  layout.schedule = schedule_of(plan).of(micro_batches);
  layout.recomputed = plan.recomputed().value_or(ChosenLayers());
  layout.step_seconds.assign(plan.stages(), profile.step_s);
  const std::vector<std::int64_t> trained = trained_parameters(sequence);
  for (const ChunkPlan& chunk : plan.chunks)
    for (int layer = chunk.first; layer < chunk.last(); ++layer)
      layout.step_seconds[chunk.stage] += profile.parameter_s * static_cast<double>(trained[layer]);
  return layout;
}

}  // namespace penstock::partition
