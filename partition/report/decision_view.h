#pragma once

#include "partition/choose/decide.h"
#include "partition/plan/plan.h"
#include "partition/report/plan_view.h"

namespace penstock::partition {

/// A decision as people see it: the first sampled step of as many replicas as can be sampled, and
/// the memory that the plan estimates, of which slots are in use between forward and backward.
PlanView view_of(const PlanningProblem& problem, const Decision& decision, const Plan& plan);

}  // namespace penstock::partition
