#include "runtime/pipeline/gradient_buckets.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

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

comm::LaneReductionPlan gradient_buckets(const partition::ParameterLayout& layout,
                                         std::vector<int> lanes_of, std::int64_t bucket_bytes) {
  const layers::DType dtype = layout.kinds.dtype;
  if (layout.kinds.sharing.replicas > 1)
    return {dtype, layout.shards.bucket_ends, std::move(lanes_of), layout.shards.range_ends};
  comm::LaneReductionPlan plan{dtype, {}, std::move(lanes_of), {}};
  const auto width = static_cast<std::int64_t>(layers::size_of(dtype));
  const auto elements = static_cast<std::int64_t>(layout.arena) / width;
  const std::int64_t step = std::max<std::int64_t>(1, bucket_bytes / width);
  for (std::int64_t begin = 0; begin < elements; begin += step)
    plan.bucket_ends.push_back(std::min(begin + step, elements));
  return plan;
}

layers::Tensor elements_of(std::byte* arena, layers::DType dtype, const comm::ElementRange& range) {
  const auto [begin, end] = range;
  return {arena + static_cast<std::size_t>(begin) * layers::size_of(dtype), dtype, {end - begin}};
}

layers::Tensor bucket_of(std::byte* arena, const comm::LaneReductionPlan& plan, int bucket) {
  return elements_of(
      arena, plan.dtype,
      {comm::bucket_begin(plan, bucket), plan.bucket_ends[static_cast<std::size_t>(bucket)]});
}

layers::Tensor summed_of(std::byte* arena, const comm::LaneReductionPlan& plan, int bucket,
                         int replica) {
  if (plan.owned_ends.empty()) return bucket_of(arena, plan, bucket);
  return elements_of(arena, plan.dtype, comm::lane_piece(plan, bucket, replica));
}

}  // namespace penstock::runtime
