#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "configs/config.h"
#include "runtime/optim/batch_scaling.h"
#include "runtime/optim/loss_scale.h"
#include "runtime/optim/optimizer.h"
#include "runtime/pipeline/gradient_norm_sync.h"
#include "runtime/pipeline/parameter_store.h"
#include "runtime/pipeline/rank_grid.h"
#include "runtime/pipeline/stage.h"
#include "runtime/pipeline/stage_reduction.h"
#include "runtime/trainer/kept_features.h"
#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// The position of training between two steps.
struct TrainingClock {
  std::int64_t step = 0;  // steps run, skipped ones included
  /// Steps that changed the model. The optimizer and the learning-rate schedule count these.
  std::int64_t optimizer_steps = 0;
};

/// One training step on this rank. Forward and backward run through the pipeline, and gradients are
/// added over lanes and replicas while backward still runs. All ranks then agree on norm and
/// losses, and each makes one update. On devices that communicate over NCCL, the whole step is
/// enqueued before the host waits, unless the optimizer takes norms.
///
/// With post-validation (Qi et al. 2023, arXiv:2401.10241, §4) a rank updates from its own norm
/// alone and continues with the next step. The norm over all ranks arrives before the first
/// backward of that step. If it requires clipping or skipping, the update is rolled back and made
/// correctly. The current step then runs to its end, since its messages are in flight, and is
/// repeated. The results are the same to the last bit.
class TrainingStep {
 public:
  struct Options {
    configs::OptimizerConfig optimizer;
    configs::LrScheduleConfig schedule;
    BatchScaling scaling = {};
    configs::PrecisionConfig precision;
    std::uint64_t seed = 0;  // seed of the optimizer's stochastic rounding
    std::int64_t bucket_bytes = 4 << 20;
    std::int64_t model_blocks = 0;    // norm blocks of the whole model
    std::vector<int> lanes_of = {1};  // one entry per replica
    /// Returns the number of utterances that have failed on this rank so far. Empty if it reads
    /// none.
    std::function<std::int64_t()> failed = {};
    /// Returns this rank's notices at a step's end. May be empty.
    std::function<Notices()> notices = {};
    DeviceLinks links = DeviceLinks::host;
    ReductionOrder reduction = ReductionOrder::lanes;
    /// Enables post-validation. It excludes optimizers and loss scales that need more than a norm;
    /// see rules.cpp. An update is optimistic only after `trusted_after` steps in a row were
    /// neither clipped nor skipped.
    bool post_validation = false;
    int trusted_after = 8;
    double ema = 0;  // decay of the moving averages of the weights; 0: there are none
  };
  TrainingStep(layers::Backend& backend, layers::Stream& stream, const RankGrid& grid, Stage& stage,
               const Options& options);

  /// Runs a step. `work` is this replica's share. `next` is that of the next step, or null if other
  /// features are read before it. If it is set, its first features are copied to the device while
  /// this step computes. A gradient that is not finite changes only `clock.step` and the loss
  /// scale. Returns a report of each step that was agreed on since the last call: this one or, with
  /// post-validation, the previous one. A report has step, loss, learning_rate, gradient_norm,
  /// loss_scale, skipped, failed_utterances and notices (of all ranks).
  std::vector<StepReport> run(StepWork work, const ReadFeatures& read_features,
                              TrainingClock& clock, const StepWork* next = nullptr);

  /// Agrees on the last step if that is still open. Until then clock, weights and loss scale are
  /// optimistic values.
  std::optional<StepReport> flush(TrainingClock& clock);

  /// Exchanges the weights with their moving averages, on all replicas. The caller must exchange
  /// them back before the next step. No step may be open.
  void exchange_averages();

  /// Number of updates that were rolled back, and of all optimistic updates.
  std::int64_t rolled_back() const { return rolled_back_; }
  std::int64_t optimistic() const { return optimistic_; }

  /// Sets a function that is called before and after every action of this rank. That includes the
  /// action `step`, which begins when the gradients are complete. An empty function removes it.
  using Watch = std::function<void(const partition::Action&, Moment)>;
  void watch(Watch watch) { watch_ = std::move(watch); }
  /// Sets a function that is called when this rank begins and ends to wait for another stage.
  using WatchWait = std::function<void(int stage, Moment)>;
  void watch_waits(WatchWait watch) { watch_wait_ = std::move(watch); }

  /// Loss scale of the next step. It may be read only while no step is open.
  LossScale& loss_scale() { return loss_scale_; }
  const LossScale& loss_scale() const { return loss_scale_; }

  /// Bytes of the staging memory for other replicas' gradients.
  std::size_t reduction_bytes() const { return reduction_.staging(); }

  /// Makes all messages in flight progress. Long computations call it.
  void progress();

 private:
  /// A step whose gradients are complete.
  struct Ended {
    StepSums sums;
    std::vector<double> told;  // losses, then failed utterances, then notices
    std::int64_t failed = 0;   // failed utterances on this rank, up to this step
    /// For each lane of this replica, indices into StepWork::micro_batches in canonical order.
    std::vector<std::vector<int>> micro_batches = {};
    double scale = 1, loss_scale = 1, learning_rate = 0;
    std::int64_t step = 0, optimizer_steps = 0;  // including this one
    std::optional<layers::GradientNormResult> result = {};
    bool plain() const { return result->skip == 0 && result->clip_coefficient == 1 / loss_scale; }
  };

  double optimistic_scale() const;
  void prefetch(const StepWork& next, const ReadFeatures& read_features);
  StepSums forward_and_backward(const StepWork& work, KeptFeatures& features);
  Ended end(StepSums sums, const StepWork& work, TrainingClock& clock);
  /// Calls `meanwhile` after everything is enqueued, before the wait. This happens only if
  /// on_device().
  void sync_gradient_norm(Ended& step, const std::function<void()>& meanwhile);
  void update_optimistically(Ended& step);
  void await_norm();
  StepReport close(Ended step, TrainingClock& clock);
  void commit_state(const Ended& step);
  std::vector<double> tell(Ended& step);
  void update(const layers::GradientNormResult* result, const Ended& step);

  layers::Backend& backend_;
  layers::Stream& stream_;
  const RankGrid& grid_;
  Stage& stage_;
  Options options_;
  std::unique_ptr<Optimizer> optimizer_;
  LossScale loss_scale_;
  StageReduction reduction_;
  GradientNormSync norm_sync_;
  std::unique_ptr<RollbackBuffer> rollback_;  // only with post-validation
  int steps_to_trust_;                        // coming steps that wait for the norm of all ranks
  std::optional<Ended> open_;                 // updated optimistically, not yet agreed on
  std::int64_t optimistic_ = 0, rolled_back_ = 0;
  std::exception_ptr unread_;  // why reading the next step's features failed
  Watch watch_;
  WatchWait watch_wait_;
};

}  // namespace penstock::runtime
