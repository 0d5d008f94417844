#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "partition/planner/cost/device_profile.h"
#include "partition/planner/plan/plan.h"
#include "partition/planner/simulate/step_estimate.h"

namespace penstock::partition {

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
