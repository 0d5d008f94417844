#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "partition/layout/chunk_bytes.h"

namespace penstock::partition {

/// Bounds from below the seconds of recomputation that free a number of bytes, using only the last
/// layers of a chunk. It assumes that each layer frees the most that it can, and that a fraction of
/// a layer frees that fraction: the linear relaxation of the knapsack problem (Dantzig 1957).
class FreeingBound {
 public:
  /// `bytes` has an upper bound on what each layer frees, `seconds` the time of its forward.
  FreeingBound(std::span<const double> bytes, std::span<const double> seconds);

  /// Returns the least seconds to free `bytes` by layers from `first` on. Infinite if all of them
  /// free less. O(log layers).
  double seconds(int first, double bytes) const;

 private:
  /// Prefix sums over the layers from one on, in falling order of bytes freed per second.
  struct Sums {
    std::vector<double> bytes, seconds;
  };
  std::vector<Sums> from_;
};

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

/// The layers of a chunk that are recomputed so that it fits into memory.
struct RecomputeChoice {
  ChosenLayers layers = {};  // index 0 is the chunk's first layer; empty: none
  double seconds = 0;        // time of the recomputation
  bool exact = true;         // no other choice that fits takes less time
};

/// Finds the cheapest layers of a chunk to recompute so that it fits, by a multi-objective shortest
/// path (Martins 1984). A label (seconds, and bytes kept, recomputed and in scratch) stands for a
/// choice of the first layers. An arc leaves a layer out, or recomputes a run of layers. A label is
/// dropped if another one takes no more seconds and, whatever follows, no more bytes. It is also
/// dropped if its seconds plus the least seconds to free the rest (FreeingBound) reach those of a
/// known choice. The result is exact, with two exceptions:
/// - of more than 1,000 or 3,000,000 / layers² labels at a layer, some are dropped;
/// - in a sequence of more than 64 layers, a greedy choice takes the layers that free the most
///   bytes per second.
class RecomputeSearch {
 public:
  /// `forward` has the forward seconds of all layers of the sequence on a device of speed 1.
  /// `bytes` is of a training that recomputes nothing, and must outlive this object.
  RecomputeSearch(const ChunkBytes& bytes, std::vector<double> forward)
      : bytes_(bytes), forward_(std::move(forward)) {}

  /// Returns the cheapest choice for layers [first, last) as that chunk, alone on its rank, within
  /// `limit` bytes on the replica that needs most. Returns nothing if no choice fits. Cached.
  const std::optional<RecomputeChoice>& within(int first, int last, int chunk, double limit);

  /// True if all results so far are exact. If not, a cheaper choice may fit, also where none was
  /// found.
  bool exact() const { return exact_; }

 private:
  std::optional<RecomputeChoice> search(int first, int last, int chunk, double limit);

  const ChunkBytes& bytes_;
  std::vector<double> forward_;
  bool exact_ = true;
  std::map<std::tuple<int, int, int, double>, std::optional<RecomputeChoice>> known_;
};

}  // namespace penstock::partition
