#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "comm/tree_rounds.h"
#include "layers/tensor/buffer.h"
#include "layers/tensor/dtype.h"

namespace penstock::comm {

/// Layout of a stage's gradients, the same on all its replicas. An arena is one flat array of them,
/// and every lane has its own. Lanes are numbered over the replicas: replica 0 holds the first
/// lanes_of[0] of them, replica 1 the next.
struct LaneReductionPlan {
  layers::DType dtype = layers::DType::f32;  // or f64
  std::vector<std::int64_t> bucket_ends;  // bucket b is elements [bucket_ends[b-1], bucket_ends[b])
  std::vector<int> lanes_of;              // lanes of each replica, by rank in the group
  /// Ends of the elements that each replica owns in a bucket, as [bucket][place]. Places are those
  /// of bit_reversed_places(). Sums go to their owner alone. If empty, replicas add even pieces,
  /// and all of them get the sums.
  std::vector<std::vector<std::int64_t>> owned_ends = {};
};

/// Elements [first, second) of an arena.
using ElementRange = std::pair<std::int64_t, std::int64_t>;

/// Returns the first element of a bucket.
inline std::int64_t bucket_begin(const LaneReductionPlan& plan, int bucket) {
  return bucket == 0 ? 0 : plan.bucket_ends[static_cast<std::size_t>(bucket - 1)];
}

/// Returns the elements of a bucket whose sums `replica` computes.
ElementRange lane_piece(const LaneReductionPlan& plan, int bucket, int replica);

/// Returns the elements of these pieces of a bucket; pieces that are adjacent form one range.
std::vector<ElementRange> lane_runs(const LaneReductionPlan& plan, int bucket,
                                    const std::vector<int>& places);

/// Returns the largest number of bytes that a replica receives of one bucket before it adds them.
std::size_t bucket_staging_bytes(const LaneReductionPlan& plan, const TreeRounds& sums, int bucket,
                                 int replica);

/// Returns the bytes of host memory that a replica's reduction keeps for what other lanes send.
std::size_t staging_bytes(const LaneReductionPlan& plan, int replica);

/// Adds the gradients of all lanes over all replicas: a reduce-scatter and, unless sums stay with
/// their owners, an all-gather, in the tree of sum_rounds(). The bits are the same on every
/// replica, and for all bucket sizes, owners and distributions of the lanes. The sum lands in the
/// first arena of each replica. The contents of its other arenas, and of the first for elements
/// that it neither owns nor gathers, are undefined after it.
///
/// Buckets never wait for each other, so replicas may start them in different orders. In a step,
/// call start() once per bucket, as soon as its gradients are complete on this replica; call
/// progress() meanwhile, and finish() at the end. Then the next step may start. CommError as from
/// the communicator.
class LaneReduction {
 public:
  /// `arenas` are those of this replica's lanes, in lane order. `group` and the arenas must outlive
  /// this. ShapeError if the plan does not fit the group or the arenas.
  LaneReduction(Communicator& group, LaneReductionPlan plan, std::vector<std::byte*> arenas);
  ~LaneReduction();
  LaneReduction(const LaneReduction&) = delete;
  LaneReduction& operator=(const LaneReduction&) = delete;

  /// Starts the sum of a bucket. Until finish() returns, the reduction owns the bucket's elements
  /// in all arenas.
  void start(int bucket);
  void progress();
  /// Waits until every bucket is complete. ShapeError if one was not started.
  void finish();

  /// Bytes of host memory that the reduction has allocated.
  std::size_t staging() const { return staging_.bytes(); }

 private:
  struct Bucket;

  bool adds(std::size_t round) const { return round < sum_rounds_; }
  void post_sums(int bucket);
  void add_received(int bucket) const;
  void post_gather(int bucket);
  bool advance(int bucket);  // returns true once the bucket is complete

  Communicator& group_;
  LaneReductionPlan plan_;
  std::vector<std::byte*> arenas_;
  TreeRounds rounds_;           // rounds of the sums, then of the gather
  std::size_t sum_rounds_ = 0;  // number of rounds of the sums
  layers::Buffer staging_;
  std::vector<Bucket> buckets_;
};

}  // namespace penstock::comm
