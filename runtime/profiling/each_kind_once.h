#pragma once

#include <optional>
#include <vector>

#include "configs/config.h"
#include "partition/model/layer_sequence.h"

namespace penstock::runtime {

/// A model of the same kinds of layers as another, with fewer of each.
struct EachKindOnce {
  configs::Config config;
  partition::LayerSequence sequence;
  std::vector<int> like;  // for each layer of the other model, the one here that costs the same
};

/// The recipe's model with the fewest blocks (model.layers) that still have every layer of
/// `sequence`, its own, by what they declare: shapes, parameters, what is kept, operations. Nothing
/// where no fewer do.
[[nodiscard]] std::optional<EachKindOnce> each_kind_once(const configs::Config& config, int labels,
                                                         const partition::LayerSequence& sequence);

}  // namespace penstock::runtime
