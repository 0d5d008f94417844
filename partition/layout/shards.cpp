#include "partition/layout/shards.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "base/bit_reversal.h"
#include "layers/tensor/parameter_blocks.h"

namespace penstock::partition {
namespace {

// Buckets are cut greedily from the front of the arena, and each bucket is shared among all
// replicas. A replica's part is proportional to what it still lacks of an equal share of all
// elements so far. So rounding to whole norm blocks is evened out by later buckets. The cost is
// linear in the number of blocks, and in buckets times replicas.

/// Returns the elements of the arena at which norm blocks begin, followed by the arena's end.
std::vector<std::int64_t> block_starts(std::span<const layers::LayerPlan> layers,
                                       layers::DType dtype) {
  std::vector<std::int64_t> starts;
  std::int64_t end = 0;
  for (const layers::LayerPlan& layer : layers) {
    for (const layers::ParamDecl& p : layer.params) {
      if (!p.summed) continue;
      const std::int64_t elements = layers::element_count(p.shape);
      for (std::int64_t block = 0; block < layers::norm_blocks(elements); ++block)
        starts.push_back(end + block * layers::kNormBlock);
      const std::size_t width = layers::size_of(dtype);
      end += static_cast<std::int64_t>(layers::aligned(static_cast<std::size_t>(elements) * width) /
                                       width);
    }
  }
  starts.push_back(end);
  return starts;
}

/// Returns the index of the bucket's end: the last of `starts` that is at most `step` elements
/// after `first`, but at least the next one.
std::size_t bucket_end(const std::vector<std::int64_t>& starts, std::size_t first,
                       std::int64_t step) {
  std::size_t last = first + 1;
  while (last + 1 < starts.size() && starts[last + 1] - starts[first] <= step) ++last;
  return last;
}

/// Cuts the bucket [starts[first], starts[last]) among the replicas and returns the ends of their
/// ranges. Both the result and `owned`, which is updated, are in order of place. A replica wants an
/// equal share of all elements before the bucket's end, less what it owns. The bucket is dealt out
/// in proportion to these wants, in whole blocks.
std::vector<std::int64_t> cut(const std::vector<std::int64_t>& starts, std::size_t first,
                              std::size_t last, std::vector<std::int64_t>& owned) {
  const auto replicas = static_cast<std::int64_t>(owned.size());
  const std::int64_t share = (starts[last] + replicas - 1) / replicas;
  const auto want = [&](std::int64_t own) { return std::max<std::int64_t>(0, share - own); };
  std::int64_t wanted = 0;
  for (const std::int64_t own : owned) wanted += want(own);
  std::vector<std::int64_t> ends;
  std::size_t begin = first;
  for (std::int64_t& own : owned) {
    const std::int64_t wants = want(own);
    const std::int64_t aim =
        starts[begin] + (starts[last] - starts[begin]) * wants / std::max<std::int64_t>(1, wanted);
    std::size_t end = begin;
    while (end < last && std::abs(starts[end + 1] - aim) <= std::abs(starts[end] - aim)) ++end;
    if (&own == &owned.back()) end = last;
    own += starts[end] - starts[begin];
    ends.push_back(starts[end]);
    begin = end;
    wanted -= wants;
  }
  return ends;
}

}  // namespace

std::pair<std::int64_t, std::int64_t> Shards::range(std::size_t bucket, int replica) const {
  const std::vector<std::int64_t>& ends = range_ends[bucket];
  const auto place = static_cast<std::size_t>(places[static_cast<std::size_t>(replica)]);
  if (place > 0) return {ends[place - 1], ends[place]};
  return {bucket == 0 ? 0 : bucket_ends[bucket - 1], ends[0]};
}

Shards share_out(std::span<const layers::LayerPlan> layers, layers::DType dtype,
                 const Sharing& sharing) {
  const std::vector<std::int64_t> starts = block_starts(layers, dtype);
  const std::int64_t step =
      sharing.bucket_bytes / static_cast<std::int64_t>(layers::size_of(dtype));
  std::vector<std::int64_t> owned(static_cast<std::size_t>(sharing.replicas));
  Shards shards{{}, {}, bit_reversed_places(sharing.replicas)};
  for (std::size_t first = 0, last = 0; first + 1 < starts.size(); first = last) {
    last = bucket_end(starts, first, step);
    shards.bucket_ends.push_back(starts[last]);
    shards.range_ends.push_back(cut(starts, first, last, owned));
  }
  return shards;
}

}  // namespace penstock::partition
