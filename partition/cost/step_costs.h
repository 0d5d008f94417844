#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/known.h"
#include "partition/cost/cost_model.h"
#include "partition/model/layer_sequence.h"

namespace penstock::partition {

/// What the micro-batches of a replica's step take, in its order, before anything is cut or placed:
/// on a device of speed 1. Cuts, schedules and placements are estimated from it.
struct StepCosts {
  std::vector<std::vector<LayerCost>> layers;  // [micro-batch][layer], seconds
  /// [micro-batch][layer]: of the message that leaves it, or brings its gradient; empty: none.
  std::vector<std::vector<double>> bytes = {};
  /// [micro-batch]: seconds to put the features in place, before the first chunk's forward; empty:
  /// 0.
  std::vector<double> reading = {};

  int micro_batches() const { return static_cast<int>(layers.size()); }
};

/// StepCosts::bytes of single micro-batches, each worked out when it is first asked for: of one
/// layer sequence and its sizes. For any thread.
class KnownMessages {
 public:
  const std::vector<double>& of(const LayerSequence& sequence, const layers::BackendSizes& sizes,
                                const std::vector<std::int64_t>& frames);

 private:
  Known<std::vector<std::int64_t>, std::vector<double>> known_;
};

/// Of micro-batches of these lengths: costs by the model, bytes by the layers' plans (an
/// activation, and a loss weight for each utterance). `reading` is left empty.
StepCosts step_costs(const LayerSequence& sequence, const layers::BackendSizes& sizes,
                     const CostModel& costs, std::span<const MicroBatchLengths> micro_batches);

}  // namespace penstock::partition
