#pragma once

#include <vector>

#include "partition/planner/cost/cost.h"
#include "partition/planner/plan/plan.h"

namespace penstock::partition {

/// A PlanEstimate is the predicted time of a plan's step, without messages and optimizer.
struct PlanEstimate {
  double micro_batch_seconds = 0;  // one micro-batch through all layers
  /// The busiest replica's micro-batches through the pipeline.
  double step_seconds = 0;
  double bound = 1;          // upper bound of the speedup over one stage, for this cut and bubble
  std::vector<double> idle;  // share of the step in which each stage is idle
};

/// `costs` exclude recomputation, which follows from the plan.
PlanEstimate estimate_plan(const Plan& plan, const std::vector<LayerCost>& costs);

}  // namespace penstock::partition
