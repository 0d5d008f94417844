#pragma once

#include <cstdint>

#include "configs/config.h"
#include "partition/planner/cost/cost.h"

namespace penstock::runtime {

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

}  // namespace penstock::runtime
