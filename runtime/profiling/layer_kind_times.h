#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "partition/planner/cost/cost.h"

namespace penstock::runtime {

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
    const partition::LayerSequence& sequence, std::span<const std::int64_t> lengths,
    std::span<const partition::LayerCost> measured,
    std::span<const partition::LayerCost> predicted);

}  // namespace penstock::runtime
