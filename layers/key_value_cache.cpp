#include "layers/key_value_cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/backend.h"
#include "layers/layer_plan.h"

namespace penstock::layers {

std::int64_t cache_channels(const LayerPlan& plan, const std::string& name) {
  if (!plan.cache_channels)
    throw ShapeError(
        fmt::format("{} can't compute the next rows of an utterance by themselves, as decoding row "
                    "by row needs: use layers that see one row, and causal attention",
                    name));
  return *plan.cache_channels;
}

namespace {

std::byte* row_of(const Tensor& tensor_UTC, std::int64_t utterance, std::int64_t row) {
  const std::int64_t place = utterance * tensor_UTC.shape[1] + row;
  return static_cast<std::byte*>(tensor_UTC.data) +
         static_cast<std::size_t>(place * tensor_UTC.shape[2]) * size_of(tensor_UTC.dtype);
}

void check_place(const CachedUtterance& of, const CachedRows& rows) {
  const KeyValueCache& cache = of.cache;
  if (of.utterance < 0 || of.utterance >= cache.utterances() || rows.first < 0 ||
      rows.end < rows.first || rows.end > cache.capacity())
    throw ShapeError(fmt::format(
        "a copy takes rows {} to {} of utterance {} of a cache, which has {} with room for {} each",
        rows.first, rows.end, of.utterance, counted(cache.utterances(), "utterance"),
        cache.capacity()));
}

}  // namespace

void copy_cached(Backend& backend, Stream& stream, const CachedUtterance& from,
                 const CachedUtterance& to, const CachedRows& rows) {
  check_place(from, rows);
  check_place(to, rows);
  const DType dtype = from.cache.keys_UTC.dtype;
  if (to.cache.channels() != from.cache.channels() || to.cache.keys_UTC.dtype != dtype)
    throw ShapeError(fmt::format("a cache of {} channels of {} can't take rows of {} of {}",
                                 to.cache.channels(), name_of(to.cache.keys_UTC.dtype),
                                 from.cache.channels(), name_of(dtype)));
  const std::size_t bytes =
      static_cast<std::size_t>((rows.end - rows.first) * from.cache.channels()) * size_of(dtype);
  for (const Tensor KeyValueCache::*tensor : {&KeyValueCache::keys_UTC, &KeyValueCache::values_UTC})
    backend.copy(stream, row_of(to.cache.*tensor, to.utterance, rows.first),
                 row_of(from.cache.*tensor, from.utterance, rows.first), bytes);
}

}  // namespace penstock::layers
