#pragma once

#include <optional>
#include <vector>

#include "configs/config.h"
#include "partition/layout/layer_sequence.h"

namespace penstock::runtime {

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

}  // namespace penstock::runtime
