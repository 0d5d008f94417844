#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/lane_reduction.h"
#include "layers/tensor/tensor.h"
#include "partition/layout/parameter_layout.h"

namespace penstock::runtime {

/// Returns how replicas with `lanes_of` lanes each add the gradients of `layout`. Without a sharded
/// optimizer, buckets have `bucket_bytes` each. With one, buckets are those of the shards, and the
/// sums stay with the owners.
comm::LaneReductionPlan gradient_buckets(const partition::ParameterLayout& layout,
                                         std::vector<int> lanes_of, std::int64_t bucket_bytes);

/// Views of ranges of an arena: any elements, those of a bucket, and those of a bucket whose sums
/// `replica` receives.
layers::Tensor elements_of(std::byte* arena, layers::DType dtype, const comm::ElementRange& range);
layers::Tensor bucket_of(std::byte* arena, const comm::LaneReductionPlan& plan, int bucket);
layers::Tensor summed_of(std::byte* arena, const comm::LaneReductionPlan& plan, int bucket,
                         int replica);

}  // namespace penstock::runtime
