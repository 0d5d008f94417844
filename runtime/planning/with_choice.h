#pragma once

#include "configs/config.h"
#include "partition/choose/problem.h"

namespace penstock::runtime {

/// The recipe of a run as it is chosen: its micro-batches, their order, stages, replicas, schedule,
/// recomputation, offload and sharding. `sequence` is that of the choice's layers.
[[nodiscard]] configs::Config with_choice(configs::Config config,
                                          const partition::LayerSequence& sequence,
                                          const partition::PlanChoice& choice);

}  // namespace penstock::runtime
