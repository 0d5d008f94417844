#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/layout/layer_sequence.h"
#include "partition/planner/cost/cost.h"

namespace penstock::runtime {

// These functions group layers by kind: the smallest model that has every kind, and the time of
// each.

/// A smaller model with the same kinds of layers as another one.
struct EachKindOnce {
  configs::Config config;
  partition::LayerSequence sequence;
  /// For each layer of the other model, the layer of this one that costs the same.
  std::vector<int> like;
};

/// Returns the recipe's model with the fewest blocks (model.layers) that still has every kind of
/// layer of `sequence`, which is the recipe's own. Layers are compared by what they declare:
/// shapes, parameters, saved tensors and operations. Returns nothing if no smaller model has them
/// all.
[[nodiscard]] std::optional<EachKindOnce> each_kind_once(const configs::Config& config, int labels,
                                                         const partition::LayerSequence& sequence);

/// Times of all layers of one kind together, for one micro-batch, forward and backward.
struct LayerKindTimes {
  std::string kind;  // the layers' name without numbers: "blocks.attention"
  int layers = 0;
  double measured_s = 0, predicted_s = 0;
  double flops = 0;  // operations that the layers declare
};

/// Groups the layers by kind, in the model's order. `measured` and `predicted` have a cost for each
/// layer of `sequence`, for utterances of `lengths`.
[[nodiscard]] std::vector<LayerKindTimes> layer_kind_times(
    const partition::LayerSequence& sequence, const partition::MicroBatchLengths& lengths,
    std::span<const partition::LayerCost> measured,
    std::span<const partition::LayerCost> predicted);

}  // namespace penstock::runtime
