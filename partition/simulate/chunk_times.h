#pragma once

#include <vector>

#include "partition/cost/cost.h"
#include "partition/model/layer_runs.h"
#include "partition/simulate/simulate.h"

namespace penstock::partition {

/// The layers' costs added up for each chunk; `begin` is the first layer of each, then the number
/// of layers. The recomputation of `recomputed` layers goes before the gradient of their input.
std::vector<ChunkTimes> chunk_times(const std::vector<int>& begin,
                                    const std::vector<LayerCost>& costs,
                                    const ChosenLayers& recomputed = {});

}  // namespace penstock::partition
