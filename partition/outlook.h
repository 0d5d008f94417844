#pragma once

#include <vector>

#include "partition/cost.h"
#include "partition/layer_runs.h"
#include "partition/plan.h"
#include "partition/simulate.h"

namespace penstock {

/// What costs say that a plan's step will take, messages and the optimizer left out.
struct Outlook {
  double micro_batch_seconds = 0;  // of one micro-batch through all layers
  double step_seconds = 0;         // of the busiest replica's micro-batches through the pipeline
  double bound = 1;                // speed-up over one stage that cut and bubble allow
  std::vector<double> idle;        // share of the step that each stage waits
};

/// The layers' costs added up for each chunk; `begin` is the first layer of each, then the number
/// of layers. A second forward, of `recomputed` layers, goes before the gradient of their input.
std::vector<ChunkTimes> chunk_times(const std::vector<int>& begin,
                                    const std::vector<LayerCost>& costs,
                                    const ChosenLayers& recomputed = {});

/// `costs` are without second forwards, which follow from the plan.
Outlook foresee(const Plan& plan, const std::vector<LayerCost>& costs);

}  // namespace penstock
