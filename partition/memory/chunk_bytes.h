#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "partition/memory/sequence_bytes.h"
#include "partition/model/layer_sequence.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// What passes through the chunks: a training's micro-batches or, where the schedule is forward
/// only, those of an evaluation.
struct ChunkLoad {
  std::vector<std::vector<std::int64_t>> micro_batches;  // feature frames of their utterances
  Schedule schedule;
  ChosenLayers recomputes = {};  // in training, of the layer sequence's layers
};

/// A chunk of a cut: layers [first, last) of the layer sequence as number `chunk` of a schedule.
struct ChunkRange {
  int first = 0, last = 0;
  int chunk = 0;
};

/// What any ranges of a layer sequence's layers need of memory as chunks of a schedule that one
/// rank holds. LayerSequence and micro-batches are read when asked for bytes; `sequence` must
/// outlive this.
class ChunkBytes {
 public:
  /// Every micro-batch of `loads` must fit; the loads take turns.
  /// Whoever carries the messages keeps besides `edge` bytes for each neighbour of a chunk that
  /// another rank holds, and `all` for all ranks.
  ChunkBytes(const LayerSequence& sequence, const std::vector<ChunkLoad>& loads,
             const layers::BackendSizes& sizes, const ParameterBytes& parameters,
             std::size_t edge = 0, std::size_t all = 0);
  /// The same, with what other schedules' have found out about the layer sequence. `sequence` must
  /// be of the types and slots of `parameters`.
  ChunkBytes(std::shared_ptr<SequenceBytes> sequence, const std::vector<ChunkLoad>& loads,
             const ParameterBytes& parameters, std::size_t edge = 0, std::size_t all = 0);

  /// Of a rank that holds these chunks, in the order of the layer sequence, of the replica that
  /// needs most.
  StageBytes operator()(std::span<const ChunkRange> held) const;
  StageBytes of_replica(std::span<const ChunkRange> held, int replica) const;
  /// Of layers [first, last) as that chunk, alone on its rank.
  StageBytes operator()(int first, int last, int chunk) const;
  StageBytes of_replica(int first, int last, int chunk, int replica) const;
  /// Whether the same is within so many bytes. Quick where it is far from that.
  bool fits(int first, int last, int chunk, double limit) const;
  ChunkBuffers buffers(int first, int last, int chunk) const;
  /// What the largest micro-batch of a training keeps in that chunk between forward and backward,
  /// which an offload moves.
  double kept(int first, int last, int chunk) const;
  /// What layers [first, last) take in any chunk at least, of parameters alone: those of
  /// neighbouring ranges add up.
  double at_least(int first, int last) const;
  /// The same where training has so many micro-batches in flight on every chunk, whatever the
  /// schedule's lists say.
  ChunkBytes holding(const InFlight& in_flight) const;

  /// What the training's micro-batch that keeps most takes in that chunk, if nothing runs forward
  /// again; how many buffers hold it at once; and what evaluations ask for in the same memory.
  struct Training {
    std::shared_ptr<const RangeSizes> sizes;
    InFlight count;
    ChunkBuffers evaluation;
    bool splits_backward = false;
  };
  Training training(int first, int last, int chunk) const;

 private:
  struct Load {
    bool training = true, splits_backward = false;
    ChosenLayers recomputes;
    std::vector<InFlight> in_flight;  // by chunk
    std::shared_ptr<RangeBuffers> buffers;
    mutable std::map<std::pair<int, int>, BufferBytes> known;  // where layers are recomputed
  };
  const BufferBytes& largest(const Load& load, const LayerRun& range) const;
  const SequenceBytes::Shared& shared(std::span<const ChunkRange> held) const;
  StageBytes without_messages(std::span<const ChunkRange> held, const ChunkBuffers& all_buffers,
                              int replica) const;

  std::shared_ptr<SequenceBytes> sequence_;
  ParameterBytes parameters_;
  std::size_t edge_, all_;
  std::vector<Load> loads_;
};

}  // namespace penstock::partition
