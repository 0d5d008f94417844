#pragma once

#include "partition/planner/choose/find_best_plan.h"
#include "partition/planner/plan/plan.h"
#include "partition/planner/report/plan_view.h"

namespace penstock::partition {

/// Returns the best plan for display. It holds the first sampled step of as many replicas as can be
/// shown, and the memory that the plan predicts. A slot is in use between forward and backward.
PlanView view_of(const PlanningProblem& problem, const BestPlan& best_plan, const Plan& plan);

}  // namespace penstock::partition
