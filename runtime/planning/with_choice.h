#pragma once

#include "configs/config.h"
#include "partition/choose/problem.h"

namespace penstock::runtime {

/// The recipe of a run as it is chosen: its micro-batches, their order, stages, replicas, schedule,
/// recomputation, offload and sharding. `sequence` is that of the choice's layers.
[[nodiscard]] configs::Config with_choice(configs::Config config,
                                          const partition::LayerSequence& sequence,
                                          const partition::PlanChoice& choice);

/// Of a ring of all devices.
[[nodiscard]] partition::LinkRates slowest_link(const partition::Cluster& cluster);

/// With buckets for such links, unless the recipe says how large they are.
[[nodiscard]] configs::Config with_buckets(configs::Config config,
                                           const partition::LinkRates& slowest);

}  // namespace penstock::runtime
