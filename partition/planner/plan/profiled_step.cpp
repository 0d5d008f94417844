#include "partition/planner/plan/profiled_step.h"

#include "partition/planner/plan/plan_schedule.h"

namespace penstock::partition {

StepCosts profiled_costs(const DeviceProfile& profile, const LayerSequence& sequence,
                         const layers::BackendSizes& sizes,
                         std::span<const MicroBatchLengths> lengths) {
  StepCosts costs = step_costs(sequence, sizes, fitted_cost_model(profile.layers), lengths);
  for (const MicroBatchLengths& one : lengths) costs.reading.push_back(profile.reading.of(one));
  return costs;
}

StepLayout profiled_layout(const DeviceProfile& profile, const Plan& plan, int micro_batches) {
  StepLayout layout;
  layout.begin = plan.cut();
  layout.schedule = schedule_of(plan).of(micro_batches);
  layout.recomputed = plan.recomputed().value_or(ChosenLayers());
  layout.step_seconds.assign(plan.stages(), profile.step_s);
  for (const ChunkPlan& chunk : plan.chunks)
    layout.step_seconds[chunk.stage] +=
        profile.parameter_s * static_cast<double>(chunk.predicted.parameters);
  return layout;
}

}  // namespace penstock::partition
