#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/lane_reduction.h"

namespace penstock {

/// How replicas with `lanes_of` lanes each add their gradients: an arena of `arena_bytes` in
/// buckets of `bucket_bytes`.
LaneReductionPlan gradient_buckets(std::size_t arena_bytes, DType dtype, std::vector<int> lanes_of,
                                   std::int64_t bucket_bytes);

}  // namespace penstock
