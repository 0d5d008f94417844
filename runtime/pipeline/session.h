#pragma once

#include <functional>
#include <memory>

#include "configs/config.h"
#include "partition/model/layer_sequence.h"
#include "partition/plan/plan.h"
#include "runtime/devices/device.h"
#include "runtime/pipeline/rank_grid.h"
#include "runtime/pipeline/stage.h"

namespace penstock::runtime {

/// The type of precision.compute. ConfigError for another name.
layers::DType compute_type(const configs::PrecisionConfig& precision);

/// Among whom the recipe shares the update of a stage.
partition::Sharing sharing_of(const configs::PipelineConfig& pipeline);

/// How optimizer.state keeps the optimizer's slots. ConfigError for another name.
partition::SlotFormat slot_format(const configs::OptimizerConfig& optimizer);

/// What the recipe computes on and in.
layers::BackendSizes backend_sizes(const configs::Config& config);

/// ConfigError, naming both numbers, if the recipe's stages × replicas are not the job's ranks.
void check_ranks(const configs::Config& config, int ranks);

/// What a session is made from.
struct SessionOptions {
  const configs::Config& config;
  const partition::LayerSequence& sequence;  // must outlive the session; the others need not
  const partition::Plan& plan;
  partition::SlotCounts slots = {.of_elements = 0};  // of the optimizer; nothing is trained without
  MemoryAdvice advice = {};                          // where the plan does not fit
};

/// A rank's share of a planned job, ready to compute: what training, evaluation, transcription,
/// profiling runs and bench have in common.
class Session {
 public:
  /// All ranks make theirs. `world` must outlive it. ConfigError if the plan is for another number
  /// of ranks; DeviceError where a device lacks the memory that it plans, with `advice`, and as
  /// from choose_device and require_equal_replicas.
  Session(comm::Communicator& world, const SessionOptions& options);
  /// The same on a device that has been chosen.
  Session(comm::Communicator& world, RankDevice device, const SessionOptions& options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  layers::Backend& backend() { return *device_.backend; }
  const RankDevice& device() const { return device_; }
  layers::Stream& stream() { return *stream_; }
  const RankGrid& grid() const { return *grid_; }
  Stage& stage() { return *stage_; }
  bool leads() const { return grid_->world().rank() == 0; }

  /// What long computations call, so that messages move; the pipeline's progress if never set.
  void on_progress(std::function<void()> progress) { progress_ = std::move(progress); }

 private:
  RankDevice device_;
  std::unique_ptr<RankGrid> grid_;
  std::function<void()> progress_;
  std::unique_ptr<layers::Stream> stream_;
  std::unique_ptr<Stage> stage_;
};

/// Norm blocks of the whole model.
std::int64_t model_blocks(const partition::LayerSequence& sequence);

/// Numbers that the whole model learns.
std::int64_t parameter_count(const partition::LayerSequence& sequence);

}  // namespace penstock::runtime
