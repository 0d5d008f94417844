#pragma once

#include <vector>

#include "partition/layout/layer_sequence.h"
#include "partition/planner/cost/cost.h"
#include "partition/planner/simulate/simulate.h"

namespace penstock::partition {

/// Sums the layers' costs for each chunk. `begin` holds the first layer of each chunk, then the
/// number of layers. The recomputation of `recomputed` layers counts to backward_input.
std::vector<ChunkTimes> chunk_times(const std::vector<int>& begin,
                                    const std::vector<LayerCost>& costs,
                                    const ChosenLayers& recomputed = {});

}  // namespace penstock::partition
