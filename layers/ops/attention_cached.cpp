#include "layers/ops/attention_cached.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/cpu/sizes.h"
#include "layers/cuda/attention/attention_sizes.h"

namespace penstock::layers {

std::size_t attention_cached_workspace(const BackendSizes& sizes,
                                       const AttentionGeometry& geometry) {
  const std::size_t rows = sizes.device == DeviceKind::cuda
                               ? cuda::attention_cached_workspace(geometry)
                               : cpu::attention_cached_workspace(geometry, sizes.compute);
  return std::max(rows, attention_workspace(sizes, geometry, false).forward);
}

void check_cache(const AttentionCached& op) {
  const auto& [keys_UTC, values_UTC, past] = op.cache;
  const std::size_t utterances = op.geometry.lengths.size();
  if (keys_UTC.shape.size() != 3 || keys_UTC.shape != values_UTC.shape ||
      keys_UTC.dtype != values_UTC.dtype)
    throw ShapeError(
        "a cache of attention needs keys and values of one type and shape, "
        "[utterances, capacity, channels]");
  if (op.cache.channels() != op.geometry.key_channels() || past.size() != utterances ||
      static_cast<std::size_t>(op.cache.utterances()) != utterances)
    throw ShapeError(fmt::format(
        "attention of {} with keys of {} was given a cache for {} with {}, and the past of {}",
        counted(utterances, "utterance"), counted(op.geometry.key_channels(), "channel"),
        op.cache.utterances(), op.cache.channels(), past.size()));
  if (op.geometry.right != 0 && !op.geometry.cross())
    throw ShapeError(fmt::format(
        "attention with a cache can't see later rows, but its context to the right is {}",
        op.geometry.right));
  for (std::size_t u = 0; u < utterances; ++u)
    if (const std::int64_t more = op.geometry.cross() ? 0 : op.geometry.lengths[u];
        past[u] < 0 || op.geometry.lengths[u] < 0 || past[u] + more > op.cache.capacity())
      throw ShapeError(fmt::format(
          "utterance {} has {} in a cache of {} and gets {} more: make the cache larger, or end "
          "the utterance",
          u, counted(past[u], "row"), op.cache.capacity(), op.geometry.lengths[u]));
}

bool begins(const AttentionCached& op) {
  return !op.geometry.cross() &&
         std::ranges::all_of(op.cache.past, [](std::int64_t rows) { return rows == 0; });
}

AttentionForward whole_attention(const AttentionCached& op) {
  return {.geometry = op.geometry,
          .qkv_FP = op.qkv_FP,
          .dropout = {},
          .y_FC = op.y_FC,
          .log_sums_HF = {},
          .workspace = op.workspace};
}

}  // namespace penstock::layers
