#pragma once

#include <functional>
#include <memory>

#include "configs/config.h"
#include "partition/chain.h"
#include "partition/plan.h"
#include "runtime/pipeline/grid.h"
#include "runtime/pipeline/stage.h"

namespace penstock {

/// The device that trainer.device names. ConfigError for another name, DeviceError if there is
/// none.
std::unique_ptr<Backend> make_backend(const TrainerConfig& config);

/// The type of precision.compute. ConfigError for another name.
DType compute_type(const PrecisionConfig& precision);

/// What the recipe computes on and in.
BackendSizes backend_sizes(const Config& config);

/// ConfigError, naming both numbers, if the recipe's stages × replicas are not the job's ranks.
void check_ranks(const Config& config, int ranks);

/// A rank's share of a planned job, ready to compute: what training, evaluation and transcription
/// have in common.
class Session {
 public:
  /// `chain` and `world` must outlive the session. ConfigError if the plan is for another number of
  /// ranks.
  Session(Communicator& world, const Config& config, const Chain& chain, const Plan& plan,
          const SlotCounts& slots);

  Backend& backend() { return *backend_; }
  Stream& stream() { return *stream_; }
  const Grid& grid() const { return *grid_; }
  Stage& stage() { return *stage_; }
  bool leads() const { return grid_->world().rank() == 0; }

  /// What long computations call, so that messages move; the pipeline's progress if never set.
  void on_progress(std::function<void()> progress) { progress_ = std::move(progress); }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Grid> grid_;
  std::function<void()> progress_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Stage> stage_;
};

/// Norm blocks of the whole model.
std::int64_t model_blocks(const Chain& chain);

/// Numbers that the whole model learns.
std::int64_t parameter_count(const Chain& chain);

}  // namespace penstock
