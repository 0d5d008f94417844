#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "partition/layout/layer_sequence.h"
#include "partition/layout/micro_batch_layout.h"
#include "partition/layout/stage_bytes.h"

namespace penstock::partition {

/// RangeSizes holds the sizes from which the memory of any choice of recomputed layers follows, for
/// one micro-batch. They are taken from a layout without recomputation.
struct RangeSizes {
  explicit RangeSizes(const MicroBatchLayout& layout, bool splits_backward);

  std::ptrdiff_t slot = 0, carried = 0, workspace = 0;
  /// Bytes in scratch: of gradients, and of gradients with the tensors carried after them.
  std::ptrdiff_t gradients = 0, gradients_and_carried = 0;
  std::vector<std::ptrdiff_t> own;        // for each layer: bytes that its forward saves
  std::vector<std::ptrdiff_t> enters;     // for each layer: bytes of its input
  std::vector<bool> as_input, as_output;  // for each layer: true if it keeps its input, its output
};

/// RangeBuffers computes the buffers of any range of layers for some micro-batches, independently
/// of stage and schedule. Each range is laid out once, when it is first asked for. Any thread may
/// call it.
class RangeBuffers {
 public:
  RangeBuffers(const LayerSequence& sequence, const std::vector<MicroBatchLengths>& micro_batches,
               const layers::BackendSizes& sizes);

  /// Returns the maximum of each kind of buffer over the micro-batches, in training or in
  /// evaluation.
  const BufferBytes& of(const LayerRun& range, bool training, bool splits_backward);
  /// Returns the same for training with recomputed layers.
  BufferBytes with_recomputation(const LayerRun& range, const ChunkRole& role) const;
  /// Returns the sizes in training of the micro-batch that keeps most.
  std::shared_ptr<const RangeSizes> sizes(const LayerRun& range, bool splits_backward);

 private:
  ChunkRole role(const LayerRun& range, bool splits_backward) const;
  BufferBytes lay_out(const LayerRun& range, bool training, bool splits_backward) const;
  std::shared_ptr<const RangeSizes> max_kept(const LayerRun& range, bool splits_backward) const;
  std::size_t features_of(const LayerRun& range) const;

  int layers_;
  int beam_;
  bool on_device_;
  std::vector<std::shared_ptr<const PlannedLayers>> planned_;
  Cache<std::tuple<int, int, bool, bool>, BufferBytes> known_;
  Cache<std::tuple<int, int, bool>, std::shared_ptr<const RangeSizes>> known_sizes_;
};

/// SequenceBytes is a cache of what all cuts and schedules of one layer sequence have in common:
/// layer plans, and sums over layers. Any thread may call it.
class SequenceBytes {
 public:
  /// `sequence` must outlive this object. Sums are for replicas that share nothing.
  SequenceBytes(const LayerSequence& sequence, const layers::BackendSizes& sizes,
                ParameterKinds kinds);

  const layers::BackendSizes& sizes() const { return sizes_; }
  int layers() const { return sequence_.size(); }
  /// The plan of each layer, independent of the input.
  const std::vector<layers::LayerPlan>& plans() const { return plans_; }
  /// Bytes that every rank keeps to agree on the gradient norm.
  std::size_t norm_bytes() const { return norm_bytes_; }
  /// Returns the sums over the layers of the range.
  ParameterSums sums(const LayerRun& range) const {
    return sums_[static_cast<std::size_t>(range.last)].after(
        sums_[static_cast<std::size_t>(range.first)]);
  }
  std::shared_ptr<RangeBuffers> buffers(const std::vector<MicroBatchLengths>& micro_batches);
  /// Shared holds the memory, without buffers, of a rank that holds some ranges, for each replica
  /// that shares the update. `fullest` is the replica that needs most.
  struct Shared {
    std::vector<StageBytes> of_replicas;
    int fullest = 0;
  };
  const Shared& shared(const std::vector<LayerRun>& held, const ParameterBytes& parameters);

 private:
  using Ranges = std::vector<std::pair<int, int>>;
  /// A cache key of parameters: lanes, bytes of a bucket, slots, and whether updates can be rolled
  /// back.
  using Kept = std::tuple<std::vector<int>, std::int64_t, int, int, int, bool>;
  Shared share(const Ranges& held, const ParameterBytes& parameters) const;

  const LayerSequence& sequence_;
  layers::BackendSizes sizes_;
  std::vector<layers::LayerPlan> plans_;
  std::size_t norm_bytes_;
  std::vector<ParameterSums> sums_;  // prefix sums: [i] covers the first i layers
  Cache<std::vector<MicroBatchLengths>, std::shared_ptr<RangeBuffers>> known_;
  Cache<std::pair<Kept, Ranges>, Shared> shared_;
};

}  // namespace penstock::partition
