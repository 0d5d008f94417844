#pragma once

#include <vector>

#include "partition/planner/cost/cost.h"
#include "partition/planner/simulate/simulate.h"
#include "runtime/planning/run_shape.h"

namespace penstock::runtime {

/// Returns [chunk][size]: seconds of the passes of a replica's mean micro-batch of each size, where
/// 0 is the longest, over the steps of shape.by_size. With R replicas, size s of a replica stands
/// for the step's sizes sR to sR + R − 1; sizes beyond those of the steps use the last. `costs`
/// hold for a middling micro-batch, and other lengths scale as computed costs do. `begin` has the
/// first layer of each chunk, then the number of layers.
[[nodiscard]] std::vector<std::vector<partition::ChunkTimes>> mean_times_by_size(
    const partition::LayerSequence& sequence, const configs::Config& config, const RunShape& shape,
    const std::vector<partition::LayerCost>& costs, const std::vector<int>& begin, int own);

/// Returns [size]: mean feature frames of the same micro-batches.
[[nodiscard]] std::vector<double> mean_frames_by_size(const RunShape& shape, int replicas, int own);

}  // namespace penstock::runtime
