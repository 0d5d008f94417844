#pragma once

#include <vector>

#include "partition/cost/cost.h"
#include "partition/simulate/simulate.h"
#include "runtime/planning/run_shape.h"

namespace penstock::runtime {

/// [chunk][size]: seconds of the passes of a replica's mean micro-batch of each size, 0 being the
/// longest, over the steps of shape.by_size. Of R replicas, a replica's size s is one of the step's
/// sizes sR to sR + R − 1; of more sizes than the steps have, the last. `costs` are of a middling
/// micro-batch; those of other lengths are in the proportion that computed costs have. `begin` has
/// the first layer of each chunk, then the number of layers.
[[nodiscard]] std::vector<std::vector<partition::ChunkTimes>> mean_times_by_size(
    const partition::LayerSequence& sequence, const configs::Config& config, const RunShape& shape,
    const std::vector<partition::LayerCost>& costs, const std::vector<int>& begin, int own);

/// [size]: feature frames of the same micro-batches.
[[nodiscard]] std::vector<double> mean_frames_by_size(const RunShape& shape, int replicas, int own);

}  // namespace penstock::runtime
