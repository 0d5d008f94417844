#pragma once

#include <vector>

#include "partition/cost/cost.h"
#include "partition/plan/plan.h"

namespace penstock::partition {

/// What costs say that a plan's step will take, messages and the optimizer left out.
struct PlanEstimate {
  double micro_batch_seconds = 0;  // of one micro-batch through all layers
  double step_seconds = 0;         // of the busiest replica's micro-batches through the pipeline
  double bound = 1;                // speed-up over one stage that cut and bubble allow
  std::vector<double> idle;        // share of the step that each stage waits
};

/// `costs` are without recomputation, which follows from the plan.
PlanEstimate estimate_plan(const Plan& plan, const std::vector<LayerCost>& costs);

}  // namespace penstock::partition
