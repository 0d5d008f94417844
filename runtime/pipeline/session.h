#pragma once

#include <functional>
#include <memory>

#include "configs/config.h"
#include "partition/layout/layer_sequence.h"
#include "partition/planner/plan/plan.h"
#include "runtime/devices/device.h"
#include "runtime/pipeline/rank_grid.h"
#include "runtime/pipeline/stage.h"

namespace penstock::runtime {

/// Returns the type that precision.compute names. ConfigError for an unknown name.
layers::DType compute_type(const configs::PrecisionConfig& precision);

/// Returns how the replicas of a stage share the update under this recipe.
partition::Sharing sharing_of(const configs::PipelineConfig& pipeline);

/// Returns the format that optimizer.state names for the optimizer's slots. ConfigError for an
/// unknown name.
partition::SlotFormat slot_format(const configs::OptimizerConfig& optimizer);

/// Returns the device kind and the types that the recipe computes with.
layers::BackendSizes backend_sizes(const configs::Config& config);

/// Throws ConfigError, naming both numbers, if the recipe's stages × replicas differ from the job's
/// ranks.
void check_ranks(const configs::Config& config, int ranks);

/// The arguments of a session.
struct SessionOptions {
  const configs::Config& config;
  const partition::LayerSequence& sequence;  // must outlive the session; the others need not
  const partition::Plan& plan;
  partition::SlotCounts slots = {.of_elements = 0};  // optimizer slots; none without training
  MemoryAdvice advice = {};                          // for the error if the plan does not fit
};

/// A rank's share of a planned job, ready to compute. Training, evaluation, transcription,
/// profiling runs and bench all start from a session.
class Session {
 public:
  /// Collective: every rank constructs one. `world` must outlive it. ConfigError if the plan has
  /// another number of ranks. DeviceError, with `advice`, if a device lacks the memory that the
  /// plan needs. Also throws as choose_device and require_equal_replicas do.
  Session(comm::Communicator& world, const SessionOptions& options);
  /// The same on a device that is already chosen.
  Session(comm::Communicator& world, RankDevice device, const SessionOptions& options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  layers::Backend& backend() { return *device_.backend; }
  const RankDevice& device() const { return device_; }
  layers::Stream& stream() { return *stream_; }
  const RankGrid& grid() const { return *grid_; }
  Stage& stage() { return *stage_; }
  bool leads() const { return grid_->world().rank() == 0; }

  /// Sets the function that long computations call so that messages move. The default is the
  /// progress of the stage's pipeline.
  void on_progress(std::function<void()> progress) { progress_ = std::move(progress); }

 private:
  RankDevice device_;
  std::unique_ptr<RankGrid> grid_;
  std::function<void()> progress_;
  std::unique_ptr<layers::Stream> stream_;
  std::unique_ptr<Stage> stage_;
};

/// Returns the number of norm blocks of the whole model.
std::int64_t model_blocks(const partition::LayerSequence& sequence);

/// Returns the number of elements of all the model's parameters, tied ones counted once.
std::int64_t parameter_count(const partition::LayerSequence& sequence);

}  // namespace penstock::runtime
