#pragma once

#include "partition/planner/choose/problem.h"
#include "partition/planner/plan/plan.h"
#include "runtime/planning/cluster_plan.h"
#include "runtime/planning/recipe_data.h"

namespace penstock::runtime {

/// Converts a candidate to a plan with the memory that the run itself counts. `planned` must have
/// its layer sequences, problem and recipe.
[[nodiscard]] partition::Plan plan_of(const ClusterPlan& planned,
                                      const partition::Candidate& candidate,
                                      const RecipeData& data);

}  // namespace penstock::runtime
