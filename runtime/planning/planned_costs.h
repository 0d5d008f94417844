#pragma once

#include "configs/config.h"
#include "partition/choose/problem.h"
#include "runtime/planning/cluster_costs.h"
#include "runtime/planning/cluster_plan.h"

namespace penstock::runtime {

/// What computed costs of `planned`, which has its layer sequences and sizes, follow from.
[[nodiscard]] ComputedCosts computed_costs(const ClusterPlan& planned);

/// Gives planned.problem costs: measured ones where constraints have some, else computed for the
/// first kind of device, or for the one that trainer.device names. ConfigError for measured costs
/// of another model.
void set_costs(ClusterPlan& planned, const ClusterConstraints& constraints,
               const configs::Config& recipe, int labels);

/// Gives the cluster's devices speeds by what the kinds of device take for that step.
RatedKinds set_speeds(ClusterPlan& planned, const partition::SampledStep& step);

}  // namespace penstock::runtime
