#pragma once

#include "partition/planner/report/plan_view.h"
#include "runtime/planning/plan_on_cluster.h"

namespace penstock::tools {

/// Adds facts on how far a plan of computed costs may be off, and whether another plan would then
/// be better. Adds nothing for a plan of measured costs.
void add_uncertainty(const runtime::ClusterPlan& planned, partition::PlanView& view);

}  // namespace penstock::tools
