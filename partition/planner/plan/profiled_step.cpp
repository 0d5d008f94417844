#include "partition/planner/plan/profiled_step.h"

#include "partition/layout/layer_sequence.h"
#include "partition/planner/plan/plan_schedule.h"

namespace penstock::partition {

// A layer with a single trained parameter counts whole: a profile's parameter_s is the measured
// time divided by the same count.
std::vector<std::int64_t> trained_parameters(const LayerSequence& sequence) {
  std::vector<std::int64_t> counts;
  for (const layers::LayerPlan& plan : plan_without_frames(sequence, {})) {
    std::int64_t& count = counts.emplace_back(0);
    for (std::size_t i = 0; plan.trained() && i < plan.params.size(); ++i)
      count += layers::element_count(plan.params[i].shape);
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
