#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "partition/cost/cost.h"

namespace penstock::partition {

/// What a micro-batch's costs follow from.
struct MicroBatchLengths {
  std::vector<std::int64_t> frames;       // of features, of each utterance
  std::vector<std::int64_t> labels = {};  // of each utterance; empty: not known
};

/// Seconds of every layer of a layer sequence for a micro-batch of any lengths, on a device of
/// speed 1: computed from rates, or fitted to what was measured.
using CostModel = std::function<std::vector<LayerCost>(const MicroBatchLengths&)>;

/// analytic_costs() of any lengths. `sequence` must outlive the result.
CostModel analytic_cost_model(const LayerSequence& sequence, const layers::BackendSizes& sizes,
                              const DeviceRates& rates);

/// `costs` of a layer sequence that keeps everything, for one whose residual units remake: these
/// take their remaking_seconds() besides, as much longer than computed as their forward is.
/// `remaking` must outlive the result.
CostModel with_remaking(CostModel costs, const LayerSequence& remaking,
                        const layers::BackendSizes& sizes);

/// Whether any layer has parts that its backward runs forward again.
[[nodiscard]] bool remakes(const LayerSequence& sequence, const layers::BackendSizes& sizes);

}  // namespace penstock::partition
