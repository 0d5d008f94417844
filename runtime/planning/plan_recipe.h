#pragma once

#include "configs/config.h"
#include "partition/plan/plan.h"
#include "partition/plan/plan_estimate.h"

namespace penstock {

struct PlannedRun {
  Plan plan;
  PlanEstimate estimate;
};

/// The plan that training `recipe` would make, for the utterances of data.train; costs are measured
/// on this machine or computed. Where trainer.resume goes on with a run, its lanes and order stay.
/// ConfigError, DataError and CheckpointError as train().
PlannedRun plan_recipe(const Config& recipe, bool measure);

}  // namespace penstock
