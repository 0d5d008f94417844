#include "runtime/pipeline/gradient_buckets.h"

#include <algorithm>
#include <utility>

namespace penstock {

LaneReductionPlan gradient_buckets(std::size_t arena_bytes, DType dtype, std::vector<int> lanes_of,
                                   std::int64_t bucket_bytes) {
  LaneReductionPlan plan{dtype, {}, std::move(lanes_of)};
  const auto width = static_cast<std::int64_t>(size_of(dtype));
  const auto elements = static_cast<std::int64_t>(arena_bytes) / width;
  const std::int64_t step = std::max<std::int64_t>(1, bucket_bytes / width);
  for (std::int64_t begin = 0; begin < elements; begin += step)
    plan.bucket_ends.push_back(std::min(begin + step, elements));
  return plan;
}

}  // namespace penstock
