#pragma once

#include <cstdint>

#include "configs/config.h"
#include "partition/cost/cost.h"

namespace penstock::runtime {

/// Between machines, where nobody has said what their links achieve.
inline constexpr partition::LinkRates kUnknownLink = {.latency = 20e-6, .bandwidth = 10e9};

/// Bytes of gradient that so many replicas add at once over links that are `slowest` at worst: so
/// many that the latency of a bucket's messages is at most a tenth of its bytes' time. Whole MiB,
/// from 1 to 64: larger buckets would leave nothing to be added beside backward. The same for every
/// rank, and so a function of what all of them know.
[[nodiscard]] std::int64_t suited_bucket_bytes(int replicas, const partition::LinkRates& slowest);

/// pipeline.bucket_bytes or, where that is 0, what suits such links.
[[nodiscard]] std::int64_t bucket_bytes(const configs::PipelineConfig& pipeline,
                                        const partition::LinkRates& slowest = kUnknownLink);

}  // namespace penstock::runtime
