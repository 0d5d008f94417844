#pragma once

#include "partition/report/plan_view.h"
#include "runtime/planning/plan_on_cluster.h"

namespace penstock::tools {

/// How far a plan of computed costs may be off, and whether another would then be better: facts for
/// people. Nothing of a plan of measured costs.
void add_belief(const runtime::ClusterPlan& planned, partition::PlanView& view);

}  // namespace penstock::tools
