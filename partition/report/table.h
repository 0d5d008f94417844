#pragma once

#include <string>

#include "partition/plan/plan.h"
#include "partition/plan/plan_estimate.h"

namespace penstock::partition {

/// The plan for a terminal: a table of stages with layers, parameters and time, one of their memory
/// by kind, and a line on the schedule.
[[nodiscard]] std::string plan_table(const Plan& plan, const PlanEstimate& estimate);

}  // namespace penstock::partition
