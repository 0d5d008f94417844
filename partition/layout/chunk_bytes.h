#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "partition/layout/layer_sequence.h"
#include "partition/layout/sequence_bytes.h"
#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// A ChunkLoad is what passes through the chunks: the micro-batches of a training or, if the
/// schedule is forward-only, of an evaluation.
struct ChunkLoad {
  std::vector<MicroBatchLengths> micro_batches;
  Schedule schedule;
  ChosenLayers recomputes = {};  // for training: one entry per layer of the layer sequence
};

/// A ChunkRange is one chunk of a cut: layers [first, last) of the layer sequence are chunk `chunk`
/// of a schedule.
struct ChunkRange {
  int first = 0, last = 0;
  int chunk = 0;
};

/// ChunkBytes computes the memory that one rank needs for any ranges of layers as chunks of a
/// schedule. The layer sequence and the micro-batches are read only when bytes are asked for. So
/// `sequence` must outlive this object.
class ChunkBytes {
 public:
  /// Every micro-batch of `loads` must fit; the loads run in turn in the same memory. The message
  /// library also keeps `edge` bytes for each neighbouring chunk on another rank, and `all` bytes
  /// for all ranks.
  ChunkBytes(const LayerSequence& sequence, const std::vector<ChunkLoad>& loads,
             const layers::BackendSizes& sizes, const ParameterBytes& parameters,
             std::size_t edge = 0, std::size_t all = 0);
  /// Does the same, and reuses the results of other schedules for this layer sequence. `sequence`
  /// must have the types and slots of `parameters`.
  ChunkBytes(std::shared_ptr<SequenceBytes> sequence, const std::vector<ChunkLoad>& loads,
             const ParameterBytes& parameters, std::size_t edge = 0, std::size_t all = 0);

  /// Returns the memory of a rank that holds these chunks, in the order of the layer sequence, on
  /// the replica that needs most.
  StageBytes operator()(std::span<const ChunkRange> held) const;
  StageBytes of_replica(std::span<const ChunkRange> held, int replica) const;
  /// Returns the memory of layers [first, last) as that chunk, if its rank holds no other.
  StageBytes operator()(int first, int last, int chunk) const;
  StageBytes of_replica(int first, int last, int chunk, int replica) const;
  /// Returns true if the same memory is at most `limit` bytes. This is quick if the memory is far
  /// from the limit.
  bool fits(int first, int last, int chunk, double limit) const;
  ChunkBuffers buffers(int first, int last, int chunk) const;
  /// Returns the bytes that the largest micro-batch of a training keeps between forward and
  /// backward in that chunk. An offload moves these bytes.
  double kept(int first, int last, int chunk) const;
  /// Returns a lower bound for the memory of layers [first, last) in any chunk, from parameters
  /// alone. The bounds of neighbouring ranges add up.
  double at_least(int first, int last) const;
  /// Returns a copy in which training has `in_flight` micro-batches in flight on every chunk,
  /// whatever the schedule's lists are.
  ChunkBytes holding(const InFlight& in_flight) const;

  /// A Training holds the sizes of the micro-batch that keeps most in that chunk, without
  /// recomputation. It also holds the number of buffers in flight, and the buffers that evaluations
  /// need in the same memory.
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
    std::vector<InFlight> in_flight;  // one per chunk
    std::shared_ptr<RangeBuffers> buffers;
    /// A cache that is used only with recomputation.
    mutable std::map<std::pair<int, int>, BufferBytes> known;
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
