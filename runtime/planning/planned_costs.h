#pragma once

#include "configs/config.h"
#include "partition/planner/choose/problem.h"
#include "runtime/planning/cluster_costs.h"
#include "runtime/planning/cluster_plan.h"

namespace penstock::runtime {

/// Returns the inputs of computed costs. `planned` must have its layer sequences and sizes.
[[nodiscard]] ComputedCosts computed_costs(const ClusterPlan& planned);

/// Sets the costs of planned.problem: measured ones if the constraints have some, else computed for
/// the first kind of device or for the one that trainer.device names. Throws ConfigError if
/// measured costs are of another model.
void set_costs(ClusterPlan& planned, const ClusterConstraints& constraints,
               const configs::Config& recipe, int labels);

/// Sets the speeds of the cluster's devices, by the time that each kind of device takes for this
/// step.
RatedKinds set_speeds(ClusterPlan& planned, const partition::SampledStep& step);

}  // namespace penstock::runtime
