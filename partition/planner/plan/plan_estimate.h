#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "partition/planner/cost/cost.h"
#include "partition/planner/cost/device_profile.h"
#include "partition/planner/plan/plan.h"
#include "partition/planner/simulate/step_estimate.h"

namespace penstock::partition {

/// A PlanEstimate is the predicted time of a plan's step, without messages and optimizer.
struct PlanEstimate {
  double micro_batch_seconds = 0;  // one micro-batch through all layers
  /// The busiest replica's micro-batches through the pipeline.
  double step_seconds = 0;
  double bound = 1;          // upper bound of the speedup over one stage, for this cut and bubble
  std::vector<double> idle;  // share of the step in which each stage is idle
};

/// `costs` exclude recomputation, which follows from the plan.
PlanEstimate estimate_plan(const Plan& plan, const std::vector<LayerCost>& costs);

/// Returns the number of each layer's parameters; 0 for a layer that is wholly frozen.
/// DeviceProfile::parameter_s is the time of each of these.
std::vector<std::int64_t> trained_parameters(const LayerSequence& sequence);

/// Returns the costs of micro-batches of these lengths by a profile of `sequence`.
StepCosts profiled_costs(const DeviceProfile& profile, const LayerSequence& sequence,
                         const layers::BackendSizes& sizes,
                         std::span<const MicroBatchLengths> lengths);

/// Returns the layout of a step of one replica of a plan with `micro_batches` micro-batches, on
/// ranks like the profile's. Links are left empty. A rank's work once per step follows from the
/// trained parameters of its chunks.
StepLayout profiled_layout(const DeviceProfile& profile, const LayerSequence& sequence,
                           const Plan& plan, int micro_batches);

}  // namespace penstock::partition
