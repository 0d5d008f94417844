#pragma once

#include "configs/config.h"
#include "partition/planner/choose/problem.h"

namespace penstock::runtime {

/// Returns the recipe with a candidate's values: its micro-batches, their order, stages, replicas,
/// schedule, recomputation, offload and sharding. `sequence` holds the candidate's layers.
[[nodiscard]] configs::Config with_candidate(configs::Config config,
                                             const partition::LayerSequence& sequence,
                                             const partition::Candidate& candidate);

/// Returns the slowest link of a ring of all devices.
[[nodiscard]] partition::LinkRates slowest_link(const partition::Cluster& cluster);

/// Sets the size of gradient buckets for such links, unless the recipe states it.
[[nodiscard]] configs::Config with_buckets(configs::Config config,
                                           const partition::LinkRates& slowest);

}  // namespace penstock::runtime
