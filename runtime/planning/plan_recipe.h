#pragma once

#include <string>

#include "configs/config.h"
#include "partition/plan/plan.h"
#include "partition/plan/plan_estimate.h"

namespace penstock::runtime {

struct PlannedRun {
  partition::Plan plan;
  partition::PlanEstimate estimate;
  std::string not_counted = {};  // what the plan's bytes leave out, for people; empty: nothing
};

/// The plan that training `recipe` would make, for the utterances of data.train; costs are measured
/// on this machine or computed. Where trainer.resume goes on with a run, its lanes and order stay.
/// ConfigError, DataError and CheckpointError as train().
[[nodiscard]] PlannedRun plan_recipe(const configs::Config& recipe, bool measure);

}  // namespace penstock::runtime
