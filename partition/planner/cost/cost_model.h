#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "partition/planner/cost/cost.h"

namespace penstock::partition {

/// A CostModel returns the seconds of every layer of a layer sequence for a micro-batch of any
/// lengths, on a device of speed 1. It is computed from rates, or fitted to measurements.
using CostModel = std::function<std::vector<LayerCost>(const MicroBatchLengths&)>;

/// Returns analytic_costs() as a cost model. `sequence` must outlive the result.
CostModel analytic_cost_model(const LayerSequence& sequence, const layers::BackendSizes& sizes,
                              const DeviceRates& rates);

/// Adds recomputation within residual units to `costs`, which are for a layer sequence that saves
/// everything. The added seconds are recompute_seconds(), scaled by the ratio of the layer's
/// forward in `costs` to its computed forward. `recomputing` must outlive the result.
CostModel with_recompute(CostModel costs, const LayerSequence& recomputing,
                         const layers::BackendSizes& sizes);

/// Returns true if any layer's backward recomputes parts of its forward.
[[nodiscard]] bool recomputes_cheap(const LayerSequence& sequence,
                                    const layers::BackendSizes& sizes);

}  // namespace penstock::partition
