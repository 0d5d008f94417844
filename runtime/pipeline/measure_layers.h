#pragma once

#include <vector>

#include "partition/layout/layer_sequence.h"
#include "partition/planner/cost/cost.h"
#include "runtime/pipeline/step_work.h"

namespace penstock::runtime {

struct MeasureOptions {
  int repeats = 5;  // after one warm-up pass
  layers::BackendSizes sizes;
};

/// Measures the seconds of each layer of `sequence` on this device, for the first micro-batch of
/// `work`. The whole sequence runs in one stage. The fastest of several passes counts, because
/// other processes can only add time.
std::vector<partition::LayerCost> measure_layers(layers::Backend& backend,
                                                 const partition::LayerSequence& sequence,
                                                 const StepWork& work, const ReadFeatures& features,
                                                 const MeasureOptions& options);

}  // namespace penstock::runtime
