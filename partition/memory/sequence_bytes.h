#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/known.h"
#include "partition/memory/range_sizes.h"
#include "partition/memory/stage_bytes.h"
#include "partition/model/layer_sequence.h"

namespace penstock::partition {

/// What the ranges of a layer sequence's layers take of memory for some micro-batches, whichever
/// stage and schedule they are of. Each range is laid out once, when it is first asked for, by any
/// thread.
class RangeBuffers {
 public:
  /// Of utterances of so many feature frames each.
  RangeBuffers(const LayerSequence& sequence,
               const std::vector<std::vector<std::int64_t>>& micro_batches,
               const layers::BackendSizes& sizes);

  /// Of the micro-batch that needs most of each kind, in training or in evaluation.
  const BufferBytes& of(const LayerRun& range, bool training, bool splits_backward);
  /// The same where layers of the range are recomputed in training.
  BufferBytes with_recomputation(const LayerRun& range, const ChunkRole& role) const;
  /// In training, of the micro-batch that keeps most.
  std::shared_ptr<const RangeSizes> sizes(const LayerRun& range, bool splits_backward);

 private:
  ChunkRole role(const LayerRun& range, bool splits_backward) const;
  BufferBytes lay_out(const LayerRun& range, bool training, bool splits_backward) const;
  std::shared_ptr<const RangeSizes> most_kept(const LayerRun& range, bool splits_backward) const;
  std::size_t features_of(const LayerRun& range) const;

  int layers_;
  bool on_device_;
  std::vector<std::shared_ptr<const PlannedLayers>> planned_;
  Known<std::tuple<int, int, bool, bool>, BufferBytes> known_;
  Known<std::tuple<int, int, bool>, std::shared_ptr<const RangeSizes>> known_sizes_;
};

/// What the chunks of one layer sequence have in common, whatever its cut and schedule: plans that
/// are made once, and sums over layers. For any thread.
class SequenceBytes {
 public:
  /// `sequence` must outlive this. Sums are those of replicas that share nothing.
  SequenceBytes(const LayerSequence& sequence, const layers::BackendSizes& sizes,
                ParameterKinds kinds);

  const layers::BackendSizes& sizes() const { return sizes_; }
  int layers() const { return sequence_.size(); }
  /// Of each layer, for any input.
  const std::vector<layers::LayerPlan>& plans() const { return plans_; }
  /// What all ranks keep to agree on the gradient's norm.
  std::size_t norm_bytes() const { return norm_bytes_; }
  ParameterSums sums(const LayerRun& range) const {
    return sums_[static_cast<std::size_t>(range.last)].behind(
        sums_[static_cast<std::size_t>(range.first)]);
  }
  std::shared_ptr<RangeBuffers> buffers(
      const std::vector<std::vector<std::int64_t>>& micro_batches);
  /// What a rank that holds those ranges takes without buffers, of each of the replicas, which
  /// share the update; and which of them takes most.
  struct Shared {
    std::vector<StageBytes> of_replicas;
    int fullest = 0;
  };
  const Shared& shared(const std::vector<LayerRun>& held, const ParameterBytes& parameters);

 private:
  using Ranges = std::vector<std::pair<int, int>>;
  /// Of parameters: lanes, bytes of a bucket, slots and whether updates may go back.
  using Kept = std::tuple<std::vector<int>, std::int64_t, int, int, bool>;
  Shared share(const Ranges& held, const ParameterBytes& parameters) const;

  const LayerSequence& sequence_;
  layers::BackendSizes sizes_;
  std::vector<layers::LayerPlan> plans_;
  std::size_t norm_bytes_;
  std::vector<ParameterSums> sums_;  // of the first i layers
  Known<std::vector<std::vector<std::int64_t>>, std::shared_ptr<RangeBuffers>> known_;
  Known<std::pair<Kept, Ranges>, Shared> shared_;
};

}  // namespace penstock::partition
