#pragma once

#include <string>

#include "configs/config.h"
#include "partition/planner/plan/plan.h"
#include "partition/planner/plan/plan_estimate.h"

namespace penstock::runtime {

struct PlannedRun {
  partition::Plan plan;
  partition::PlanEstimate estimate;
  std::string not_counted = {};  // for people: memory that the plan's bytes leave out; empty: none
};

/// Returns the plan that training `recipe` makes for the utterances of data.train. Costs are
/// measured on this machine or computed. If trainer.resume continues a run, its lanes and order
/// stay. Throws ConfigError, DataError and CheckpointError like train().
[[nodiscard]] PlannedRun plan_recipe(const configs::Config& recipe, bool measure);

}  // namespace penstock::runtime
