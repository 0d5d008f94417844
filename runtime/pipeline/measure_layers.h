#pragma once

#include <vector>

#include "partition/cost/cost.h"
#include "partition/model/layer_sequence.h"
#include "runtime/pipeline/step_work.h"

namespace penstock::runtime {

struct MeasureOptions {
  int repeats = 5;  // after one pass that warms up
  layers::BackendSizes sizes;
};

/// Seconds that each layer of `sequence` takes for the first micro-batch of `work`, on this device,
/// whole layer sequence in one stage: of several passes the fastest, since what else runs on a
/// machine only ever adds to a layer's time.
std::vector<partition::LayerCost> measure_layers(layers::Backend& backend,
                                                 const partition::LayerSequence& sequence,
                                                 const StepWork& work, const ReadFeatures& features,
                                                 const MeasureOptions& options);

}  // namespace penstock::runtime
