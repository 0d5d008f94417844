#pragma once

#include <memory>
#include <vector>

#include "runtime/pipeline/gradient_reduction.h"
#include "runtime/pipeline/rank_grid.h"
#include "runtime/pipeline/stage.h"

namespace penstock::runtime {

/// Adds a stage's gradients over lanes and replicas, bucket by bucket from the last to the first,
/// each as soon as the layers in it are whole, while backward goes on.
class StageReduction {
 public:
  struct Options {
    std::vector<int> lanes_of = {1};  // each replica
    std::int64_t bucket_bytes = 4 << 20;
    DeviceLinks links = DeviceLinks::host;
    ReductionOrder order = ReductionOrder::lanes;
  };
  /// All replicas make theirs. All arguments but the last must outlive it.
  StageReduction(layers::Backend& backend, layers::Stream& stream, const RankGrid& grid,
                 const Stage& stage, const Options& options);

  /// A step begins: no layer is whole.
  void begin();
  /// The gradients of this layer of the stage are.
  void layer_whole(std::size_t layer);
  /// All are whole that have not been said to be. Behind finish() those of lane 0 are the sums over
  /// all lanes, of what this rank owns.
  void all_whole() { start_buckets(0); }
  void finish() { reduction_->finish(); }

  /// What layers read goes from the replicas that own it to all others, where they share it.
  void gather();

  void progress() { reduction_->progress(); }
  /// Bytes that wait for other replicas' gradients.
  std::size_t staging() const { return reduction_->staging(); }

 private:
  void start_buckets(std::size_t whole_from);

  const ParameterStore& store_;
  comm::LaneReductionPlan plan_;
  std::unique_ptr<GradientReduction> reduction_;
  int next_bucket_ = 0;           // buckets from here on have been started
  std::vector<bool> whole_;       // layers of the stage whose gradients are
  std::size_t whole_behind_ = 0;  // all layers from here on are
};

}  // namespace penstock::runtime
