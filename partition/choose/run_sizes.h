#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "partition/memory/chunk_bytes.h"

namespace penstock::partition {

/// Bytes of a chunk that hang on which of its layers are recomputed, of one micro-batch: added
/// up over runs of layers that are not neighbours, except for what takes turns.
struct RunSizes {
  std::ptrdiff_t slot = 0;  // more (or, below 0, less) that stays between forward and backward
  std::ptrdiff_t recomputed =
      0;  // recomputed: the largest run's or, where backward is split, of all
  /// Activations in scratch, before layers of even and odd places: those that a recomputed forward
  /// passes on beside a gradient, and (told where backward is split; else gradients are larger)
  /// the others.
  std::array<std::ptrdiff_t, 2> again = {}, once = {};
};

/// What every choice of layers of one chunk needs of memory, without laying it out: the rules of
/// lay_out_training() by runs. Exact where all layers have a backward; of several micro-batches for
/// the one that keeps most. Those without keep nothing, so choosing them frees nothing. A run of
/// theirs, or right behind them, may take less than is said.
class ChunkSizes {
 public:
  explicit ChunkSizes(const ChunkBytes::Training& training);

  int layers() const { return static_cast<int>(range_->own.size()); }
  RunSizes of(const LayerRun& run) const;
  /// Of layers [first, last) that are not chosen, as the layer before them is not.
  RunSizes without(const LayerRun& layers) const;
  /// Both runs, or sets of them; an empty set is {}.
  RunSizes joined(const RunSizes& one, const RunSizes& other) const;
  /// Whether `one` never takes more than `other`, whatever is joined to both. Both have chosen some
  /// layer, or neither has. What is larger in the one may be made up for by what is smaller.
  bool never_more(const RunSizes& one, const RunSizes& other) const;
  /// Bytes of slots, recomputed and scratch that all layers take more than if none were chosen.
  double change(const RunSizes& all, bool any) const;
  /// By how much change() may fall where a layer is chosen besides, at most.
  double most_freed(int layer) const;

 private:
  bool is_kept(int entering) const {
    return range_->as_output[entering - 1] || range_->as_input[entering];
  }
  /// Bytes of what a layer's forward saves, and of what leaves it within the chunk.
  std::ptrdiff_t made_by(int layer) const {
    return range_->own[layer] + (layer + 1 < layers() ? range_->enters[layer + 1] : 0);
  }
  double bytes(const RunSizes& all, bool any) const;

  bool split_;
  bool slots_may_be_few_ = false;  // so that evaluations need more
  InFlight count_;
  ChunkBuffers evaluation_;
  std::shared_ptr<const RangeSizes> range_;
};

}  // namespace penstock::partition
