#include "partition/planner/cost/cost_model.h"

#include <algorithm>
#include <utility>

#include "partition/layout/layer_figures.h"

namespace penstock::partition {

// Kinds are found once: the model is called for every micro-batch of every sampled step, and
// finding kinds plans all layers.
CostModel analytic_cost_model(const LayerSequence& sequence, const layers::BackendSizes& sizes,
                              const DeviceRates& rates) {
  return [&sequence, sizes, rates,
          kinds = layer_kinds(sequence, sizes)](const MicroBatchLengths& lengths) {
    return analytic_costs(sequence, lengths.frames, sizes, rates, lengths.labels, kinds);
  };
}

// `costs` may be measured on a device whose rates are unknown. So only a ratio is taken from
// default rates: the recomputed parts' share of the layer's forward. No forward is 0, since each
// has a launch.
CostModel with_recompute(CostModel costs, const LayerSequence& recomputing,
                         const layers::BackendSizes& sizes) {
  return [costs = std::move(costs), &recomputing, sizes,
          rates = default_rates(sizes)](const MicroBatchLengths& lengths) {
    std::vector<LayerCost> all = costs(lengths);
    const auto computed = analytic_costs(recomputing, lengths.frames, sizes, rates, lengths.labels);
    const auto seconds = recompute_seconds(recomputing, lengths, sizes, rates);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i].backward_input += seconds[i] * all[i].forward / computed[i].forward;
    return all;
  };
}

// Without frames a recomputed part still costs its launch, so the answer depends on the layers
// alone.
bool recomputes_cheap(const LayerSequence& sequence, const layers::BackendSizes& sizes) {
  return std::ranges::any_of(recompute_seconds(sequence, {}, sizes, default_rates(sizes)),
                             [](double seconds) { return seconds > 0; });
}

}  // namespace penstock::partition
