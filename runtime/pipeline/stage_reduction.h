#pragma once

#include <memory>
#include <vector>

#include "runtime/pipeline/gradient_reduction.h"
#include "runtime/pipeline/rank_grid.h"
#include "runtime/pipeline/stage.h"
#include "runtime/pipeline/tied_weights.h"

namespace penstock::runtime {

/// Adds a stage's gradients over lanes and replicas while backward runs. Buckets start from the
/// last to the first, each as soon as all its layers' gradients are complete.
class StageReduction {
 public:
  struct Options {
    std::vector<int> lanes_of = {1};  // lanes of each replica
    std::int64_t bucket_bytes = 4 << 20;
    DeviceLinks links = DeviceLinks::host;
    ReductionOrder order = ReductionOrder::lanes;
  };
  /// Collective: all replicas construct one. All arguments but the last must outlive it.
  StageReduction(layers::Backend& backend, layers::Stream& stream, const RankGrid& grid,
                 Stage& stage, const Options& options);

  /// Begins a step: no layer's gradients are complete.
  void begin();
  /// Marks the gradients of this layer of the stage as complete.
  void layer_complete(std::size_t layer);
  /// Marks all remaining layers as complete. After finish(), which all ranks call, lane 0 holds the
  /// sums over all lanes of the elements that this rank owns, with those of tied parameters.
  void all_complete() { start_buckets(0); }
  void finish() {
    reduction_->finish();
    tied_.add_gradients();
  }

  /// Sends the parameters that layers read from their owners to all other replicas, if replicas
  /// share the update, and to tied parameters. All ranks call it.
  void gather();

  void progress() { reduction_->progress(); }
  /// Bytes of the staging memory for other replicas' gradients.
  std::size_t staging() const { return reduction_->staging(); }

 private:
  void start_buckets(std::size_t whole_from);

  const ParameterStore& store_;
  comm::LaneReductionPlan plan_;
  std::unique_ptr<GradientReduction> reduction_;
  TiedWeights tied_;
  int next_bucket_ = 0;            // buckets from this one on have been started
  std::vector<bool> whole_;        // true for layers whose gradients are complete
  std::size_t complete_from_ = 0;  // all layers from this one on are complete
};

}  // namespace penstock::runtime
