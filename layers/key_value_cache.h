#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "layers/tensor/tensor.h"

namespace penstock::layers {

class Backend;
class Stream;
struct LayerPlan;

// Incremental decoding: a model computes the next rows of utterances whose earlier rows it has
// computed. Most layers compute each row by itself. Causal attention reads the keys and values of
// earlier rows, which a cache keeps. LayerPlan::cache_channels says what a layer needs.
//
// A decoder makes a cache for each layer of its sequence that needs one, and one vector of `past`
// for all of them. A step runs every layer in Mode::evaluate, with Context::cache set to the
// layer's own cache. After the last layer, the decoder adds the step's rows to `past`. A residual
// unit hands the cache on to its parts, of which at most one needs it.

/// Holds keys, rotated where positions are rotary, and values of the rows so far of some
/// utterances, for one layer. It is a view: whoever decodes owns the memory.
struct KeyValueCache {
  /// For each utterance, its rows from the first on, in the number format of activations. Rows from
  /// `past` on need not be initialised. T is the capacity.
  Tensor keys_UTC, values_UTC;
  std::span<const std::int64_t> past;  // rows of each utterance, in host memory

  std::int64_t utterances() const { return keys_UTC.shape.at(0); }
  std::int64_t capacity() const { return keys_UTC.shape.at(1); }
  std::int64_t channels() const { return keys_UTC.shape.at(2); }
};

/// Returns the channels C of the cache that a layer needs for incremental decoding; 0: none.
/// ShapeError if the layer, which `name` names, can't be decoded row by row.
[[nodiscard]] std::int64_t cache_channels(const LayerPlan& plan, const std::string& name);

/// Names an utterance of a cache.
struct CachedUtterance {
  const KeyValueCache& cache;
  std::int64_t utterance = 0;
};

/// The rows [first, end) of an utterance.
struct CachedRows {
  std::int64_t first = 0, end = 0;
};

/// Copies rows of one utterance to the same rows of another, of the same cache or of another of as
/// many channels: one run of memory for keys, and one for values. The two utterances must differ. A
/// search copies so the rows of a hypothesis from which several go on. ShapeError if the rows
/// exceed a capacity or the caches differ.
void copy_cached(Backend& backend, Stream& stream, const CachedUtterance& from,
                 const CachedUtterance& to, const CachedRows& rows);

}  // namespace penstock::layers
