#pragma once

#include <span>

#include "partition/planner/cost/device_profile.h"
#include "partition/planner/plan/plan.h"
#include "partition/planner/simulate/step_estimate.h"

namespace penstock::partition {

/// Returns the costs of micro-batches of these lengths by a profile of `sequence`.
StepCosts profiled_costs(const DeviceProfile& profile, const LayerSequence& sequence,
                         const layers::BackendSizes& sizes,
                         std::span<const MicroBatchLengths> lengths);

/// Returns the layout of a step of one replica of a plan with `micro_batches` micro-batches, on
/// ranks like the profile's. Links are left empty. A rank's work once per step follows from the
/// parameters of its chunks.
StepLayout profiled_layout(const DeviceProfile& profile, const Plan& plan, int micro_batches);

}  // namespace penstock::partition
