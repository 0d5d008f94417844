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

/// Gradients of a stage, the same on all its replicas. An arena is one flat array of them; every
/// lane has its own. Lanes are numbered over the replicas: replica 0 holds the first lanes_of[0] of
/// them, replica 1 the next.
struct LaneReductionPlan {
  layers::DType dtype = layers::DType::f32;  // or f64
  std::vector<std::int64_t> bucket_ends;  // bucket b is elements [bucket_ends[b-1], bucket_ends[b])
  std::vector<int> lanes_of;              // each replica, by rank in the group
  /// Where the elements of a bucket end that one replica owns each, [bucket][place], places being
  /// those of bit_reversed_places(): the sums of these go to their owner alone. Empty: replicas add
  /// even pieces, and sums go to all of them.
  std::vector<std::vector<std::int64_t>> owned_ends = {};
};

/// Elements [first, second) of an arena.
using ElementRange = std::pair<std::int64_t, std::int64_t>;

/// Where a bucket's elements begin.
inline std::int64_t bucket_begin(const LaneReductionPlan& plan, int bucket) {
  return bucket == 0 ? 0 : plan.bucket_ends[static_cast<std::size_t>(bucket - 1)];
}

/// The elements of a bucket of which `replica` gets the sums first.
ElementRange lane_piece(const LaneReductionPlan& plan, int bucket, int replica);

/// The elements of these pieces of a bucket: one range where the pieces are neighbours.
std::vector<ElementRange> lane_runs(const LaneReductionPlan& plan, int bucket,
                                    const std::vector<int>& places);

/// Bytes that a replica receives of one bucket before it adds them, at most.
std::size_t bucket_staging_bytes(const LaneReductionPlan& plan, const TreeRounds& sums, int bucket,
                                 int replica);

/// Host memory that a replica's reduction keeps for what other lanes send, in bytes.
std::size_t staging_bytes(const LaneReductionPlan& plan, int replica);

/// Adds lanes over replicas: reduce-scatter and, unless sums stay with their owners, all-gather, in
/// the tree of sum_rounds(). The bits are the same on every replica, and for any buckets, any
/// owners and any distribution of the lanes. The sum lands in the first arena of each replica. What
/// lies then in its other arenas, and in the first where it is not the owner, is of no use.
/// Buckets never wait for each other, so replicas may start them in different orders. One step:
/// start() each bucket once, as soon as its gradients are whole on this replica; progress()
/// meanwhile; finish(). Then the next step may start. CommError as from the communicator.
class LaneReduction {
 public:
  /// `arenas`: of this replica's lanes in lane order. `group` and arenas must outlive this.
  /// ShapeError where the plan does not fit group or arenas.
  LaneReduction(Communicator& group, LaneReductionPlan plan, std::vector<std::byte*> arenas);
  ~LaneReduction();
  LaneReduction(const LaneReduction&) = delete;
  LaneReduction& operator=(const LaneReduction&) = delete;

  /// From now to finish() the bucket's elements belong to the reduction in all arenas.
  void start(int bucket);
  void progress();
  /// Waits until every bucket is whole. ShapeError if one was not started.
  void finish();

  /// Bytes of memory that it has allocated.
  std::size_t staging() const { return staging_.bytes(); }

 private:
  struct Bucket;

  bool adds(std::size_t round) const { return round < sum_rounds_; }
  void post_sums(int bucket);
  void add_received(int bucket) const;
  void post_gather(int bucket);
  bool advance(int bucket);  // true once the bucket is whole

  Communicator& group_;
  LaneReductionPlan plan_;
  std::vector<std::byte*> arenas_;
  TreeRounds rounds_;           // of the sums, then of the gather
  std::size_t sum_rounds_ = 0;  // as many are of the sums
  layers::Buffer staging_;
  std::vector<Bucket> buckets_;
};

}  // namespace penstock::comm
