#pragma once

#include <span>

#include "partition/cost/device_profile.h"
#include "partition/plan/plan.h"
#include "partition/simulate/step_estimate.h"

namespace penstock::partition {

/// What micro-batches of these lengths take by a profile of `sequence`.
StepCosts profiled_costs(const DeviceProfile& profile, const LayerSequence& sequence,
                         const layers::BackendSizes& sizes,
                         std::span<const MicroBatchLengths> lengths);

/// The step of one replica of a plan, of so many micro-batches, on ranks like the profile's, but
/// for links: what a rank does once follows from the parameters that its chunks train.
StepLayout profiled_layout(const DeviceProfile& profile, const Plan& plan, int micro_batches);

}  // namespace penstock::partition
