#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "partition/layout/layer_sequence.h"
#include "partition/planner/cost/cost_model.h"

namespace penstock::partition {

/// StepCosts holds the costs of the micro-batches of a replica's step, in its order, on a device of
/// speed 1. They do not depend on a cut or a placement. Cuts, schedules and placements are
/// estimated from them.
struct StepCosts {
  std::vector<std::vector<LayerCost>> layers;  // [micro-batch][layer], seconds
  /// [micro-batch][layer]: bytes of the message that leaves the layer, or that brings its gradient.
  /// Empty means no messages.
  std::vector<std::vector<double>> bytes = {};
  /// [micro-batch]: seconds to load the features before the first chunk's forward. Empty means 0.
  std::vector<double> reading = {};

  int micro_batches() const { return static_cast<int>(layers.size()); }
};

/// MessageCache is a cache of StepCosts::bytes of single micro-batches, for one layer sequence and
/// its sizes. Any thread may call it.
class MessageCache {
 public:
  const std::vector<double>& of(const LayerSequence& sequence, const layers::BackendSizes& sizes,
                                const MicroBatchLengths& lengths);

 private:
  Cache<MicroBatchLengths, std::vector<double>> known_;
};

/// Returns the costs of micro-batches of these lengths. Seconds come from the cost model, and bytes
/// from the layers' plans: an activation, and a loss weight for each utterance. `reading` is left
/// empty.
StepCosts step_costs(const LayerSequence& sequence, const layers::BackendSizes& sizes,
                     const CostModel& costs, std::span<const MicroBatchLengths> micro_batches);

}  // namespace penstock::partition
