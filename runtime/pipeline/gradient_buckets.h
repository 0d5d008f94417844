#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/lane_reduction.h"
#include "layers/tensor/tensor.h"
#include "partition/model/parameter_layout.h"

namespace penstock::runtime {

/// How replicas with `lanes_of` lanes each add their gradients, which lie as `layout` has it: in
/// buckets of `bucket_bytes` or, where they share the update, in its shards, whose sums stay with
/// their owners.
comm::LaneReductionPlan gradient_buckets(const partition::ParameterLayout& layout,
                                         std::vector<int> lanes_of, std::int64_t bucket_bytes);

/// Elements of an arena; those of a bucket, and those whose sums a replica gets.
layers::Tensor elements_of(std::byte* arena, layers::DType dtype, const comm::ElementRange& range);
layers::Tensor bucket_of(std::byte* arena, const comm::LaneReductionPlan& plan, int bucket);
layers::Tensor summed_of(std::byte* arena, const comm::LaneReductionPlan& plan, int bucket,
                         int replica);

}  // namespace penstock::runtime
