#include "runtime/pipeline/gradient_buckets.h"

#include <algorithm>
#include <utility>

namespace penstock::runtime {
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
