#pragma once

#include <cstddef>
#include <string>

#include "partition/plan/plan.h"
#include "partition/plan/plan_estimate.h"

namespace penstock::partition {

/// The plan for a terminal of so many columns: a table of stages with parameters, time and layers,
/// one of their memory by kind, and a line on the schedule.
[[nodiscard]] std::string plan_table(const Plan& plan, const PlanEstimate& estimate,
                                     std::size_t columns);

}  // namespace penstock::partition
