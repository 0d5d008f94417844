#pragma once

#include <cstddef>
#include <string>

#include "partition/planner/plan/plan.h"
#include "partition/planner/plan/plan_estimate.h"

namespace penstock::partition {

/// Formats the plan for a terminal of `columns` columns. It has a table of chunks with parameters,
/// time and layers, a table of memory by kind, and a line on the schedule.
[[nodiscard]] std::string plan_table(const Plan& plan, const PlanEstimate& estimate,
                                     std::size_t columns);

}  // namespace penstock::partition
