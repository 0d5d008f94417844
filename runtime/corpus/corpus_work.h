#pragma once

#include <cstdint>
#include <vector>

#include "runtime/corpus/corpus.h"
#include "runtime/data/steps.h"
#include "runtime/pipeline/step_work.h"

namespace penstock::runtime {

/// Lanes [first, first + count) of a step belong to one replica.
struct LaneShare {
  int first = 0, count = 1;
};

/// That of a replica, where each has so many lanes.
[[nodiscard]] LaneShare lane_share(const std::vector<int>& lanes_of, int replica);

/// What a replica has to do of a training step. Labels are copied only where a layer reads them.
StepWork training_work(const StepBatches& step, const Corpus& corpus, std::uint64_t seed,
                       const LaneShare& share, bool with_labels);

/// What replica `replica` of `replicas` has to do of a pass over `batches`, dealt in turns.
StepWork evaluation_work(const std::vector<MicroBatch>& batches, const Corpus& corpus, int replica,
                         int replicas, bool with_labels);

/// The batches of `work`, as a loader reads them.
std::vector<MicroBatch> batches_of(const StepWork& work, const std::vector<MicroBatch>& all);

}  // namespace penstock::runtime
