#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "partition/layout/chunk_bytes.h"

namespace penstock::partition {

/// Bytes per micro-batch of a chunk that depend on which of its layers are recomputed. A run is a
/// maximal range of recomputed neighbours. Sizes of several runs add up, except for buffers that
/// the runs use in turn: of these the largest counts.
struct RunSizes {
  std::ptrdiff_t slot = 0;  // change of the bytes that stay from forward to backward
  /// Recomputed bytes: of the largest run or, if backward is split, of all runs together.
  std::ptrdiff_t recomputed = 0;
  /// Largest activations in scratch, in front of layers of even and of odd index. `again`: those
  /// that a recomputed forward passes on while a gradient waits. `once`: the others, counted only
  /// if backward is split, since gradients are at least as large otherwise.
  std::array<std::ptrdiff_t, 2> again = {}, once = {};
};

/// Computes the memory of a chunk for any choice of recomputed layers, without laying the chunk
/// out. It applies the rules of lay_out_training() run by run, to the micro-batch that keeps most.
/// The result is exact if all layers have a backward. Layers without one keep nothing, so
/// recomputing them frees nothing; a run of them, or right after them, may take less than computed
/// here.
class ChunkSizes {
 public:
  explicit ChunkSizes(const ChunkBytes::Training& training);

  int layers() const { return static_cast<int>(range_->own.size()); }
  /// Sizes of a run of recomputed layers.
  RunSizes of(const LayerRun& run) const;
  /// Sizes of layers that are not recomputed, after a layer that is not recomputed either.
  RunSizes without(const LayerRun& layers) const;
  /// Sizes of two disjoint sets of runs together; {} is the empty set.
  RunSizes joined(const RunSizes& one, const RunSizes& other) const;
  /// True if `one` takes no more memory than `other`, whatever is joined to both. Either both or
  /// none must have a recomputed layer. One size may be larger if a smaller one makes up for it.
  bool never_more(const RunSizes& one, const RunSizes& other) const;
  /// Bytes that the chunk takes more than without recomputation; negative if less. `all` are the
  /// sizes of all layers; `any` is true if one is recomputed.
  double change(const RunSizes& all, bool any) const;
  /// Upper bound on the bytes by which change() falls if this layer is recomputed too.
  double max_freed(int layer) const;

 private:
  /// True if the input of a layer stays until backward, because it or the layer before needs it.
  bool is_kept(int entering) const {
    return range_->as_output[entering - 1] || range_->as_input[entering];
  }
  /// Bytes that a layer's forward saves, plus those of its output within the chunk.
  std::ptrdiff_t made_by(int layer) const {
    return range_->own[layer] + (layer + 1 < layers() ? range_->enters[layer + 1] : 0);
  }
  /// Bytes of slots, recomputed activations and scratch.
  double bytes(const RunSizes& all, bool any) const;

  bool split_;
  bool slots_may_be_few_ = false;  // recomputation may shrink slots below evaluation's needs
  InFlight count_;
  ChunkBuffers evaluation_;
  std::shared_ptr<const RangeSizes> range_;
};

}  // namespace penstock::partition
