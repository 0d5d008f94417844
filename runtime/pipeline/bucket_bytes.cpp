#include "runtime/pipeline/bucket_bytes.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace penstock::runtime {
namespace {

constexpr double kLatencyShare = 0.1;
constexpr double kMinMiB = 1, kMaxMiB = 64;

}  // namespace

/// The reduce-scatter and the all-gather of a bucket each take ⌈log2 R⌉ messages and (R − 1) / R of
/// its bytes. Solving latency · rounds = kLatencyShare · moved bytes / bandwidth for the bytes
/// gives the size.
std::int64_t suited_bucket_bytes(int replicas, const partition::LinkRates& slowest) {
  if (replicas < 2) return static_cast<std::int64_t>(kMinMiB) << 20;
  const double rounds = std::bit_width(static_cast<unsigned>(replicas - 1));
  const double moved = (replicas - 1.0) / replicas;  // share that a rank sends per phase
  const double bytes = rounds * slowest.latency * slowest.bandwidth / (kLatencyShare * moved);
  const double mib = std::max(kMinMiB, std::min(kMaxMiB, std::ceil(bytes / (1 << 20))));
  return static_cast<std::int64_t>(mib) << 20;
}

std::int64_t bucket_bytes(const configs::PipelineConfig& pipeline,
                          const partition::LinkRates& slowest) {
  return pipeline.bucket_bytes > 0 ? pipeline.bucket_bytes
                                   : suited_bucket_bytes(pipeline.replicas, slowest);
}

}  // namespace penstock::runtime
