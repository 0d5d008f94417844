#pragma once

#include "partition/choose/problem.h"
#include "partition/plan/plan.h"
#include "runtime/planning/cluster_plan.h"
#include "runtime/planning/recipe_data.h"

namespace penstock::runtime {

/// A choice as a plan, with the memory that the run itself will count. `planned` has layer
/// sequences, problem and recipe.
[[nodiscard]] partition::Plan plan_of(const ClusterPlan& planned,
                                      const partition::PlanChoice& choice, const RecipeData& data);

}  // namespace penstock::runtime
