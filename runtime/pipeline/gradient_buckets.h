#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/lane_reduction.h"
#include "configs/config.h"
#include "layers/tensor/tensor.h"
#include "partition/layout/parameter_layout.h"
#include "partition/planner/cost/cost.h"

namespace penstock::runtime {

// Replicas add gradients in buckets, one after the other. These functions choose and cut them.

/// Rates assumed for a link between machines if no measured ones are given.
inline constexpr partition::LinkRates kUnknownLink = {.latency = 20e-6, .bandwidth = 10e9};

/// Returns the bytes of gradients that `replicas` replicas should add at once. The size is chosen
/// so that the latency of a bucket's messages is at most a tenth of its transfer time over
/// `slowest`, the slowest link. It is a whole number of MiB from 1 to 64: larger buckets would
/// leave nothing to overlap with backward. All ranks need the same value, so it depends only on
/// arguments that all of them know.
[[nodiscard]] std::int64_t suited_bucket_bytes(int replicas, const partition::LinkRates& slowest);

/// Returns pipeline.bucket_bytes or, if that is 0, the size that suits these links.
[[nodiscard]] std::int64_t bucket_bytes(const configs::PipelineConfig& pipeline,
                                        const partition::LinkRates& slowest = kUnknownLink);

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
