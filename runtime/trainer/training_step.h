#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "configs/config.h"
#include "runtime/optim/loss_scale.h"
#include "runtime/optim/optimizer.h"
#include "runtime/pipeline/gradient_norm_sync.h"
#include "runtime/pipeline/rank_grid.h"
#include "runtime/pipeline/rollback_buffer.h"
#include "runtime/pipeline/stage.h"
#include "runtime/pipeline/stage_reduction.h"
#include "runtime/trainer/kept_features.h"
#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// Where training stands between two steps.
struct TrainingClock {
  std::int64_t step = 0;  // steps run, skipped ones included
  /// Steps that changed the model: the clock of optimizer and learning-rate schedule.
  std::int64_t optimizer_steps = 0;
};

/// One step on this rank: forward and backward through the pipeline, gradients added over lanes and
/// replicas while backward still runs, norm and losses agreed by all ranks, one update. On devices
/// that meet over NCCL all of it is asked for before anything is waited for, but for optimizers
/// that take norms.
///
/// With post-validation (Qi et al. 2023, arXiv:2401.10241, §4) a rank updates by what it knows
/// alone and goes on. The norm over all ranks is there by its next step's first backward; if that
/// asks for clipping or skipping, the update is rolled back and made as it says, the step under way
/// runs to its end, since messages are under way, and begins again. So no bit differs.
class TrainingStep {
 public:
  struct Options {
    configs::OptimizerConfig optimizer;
    configs::LrScheduleConfig schedule;
    configs::PrecisionConfig precision;
    std::uint64_t seed = 0;  // of what the optimizer rounds at random
    std::int64_t bucket_bytes = 4 << 20;
    std::int64_t model_blocks = 0;    // norm blocks of the whole model
    std::vector<int> lanes_of = {1};  // each replica
    /// Utterances that have failed on this rank so far; empty: it reads none.
    std::function<std::int64_t()> failed = {};
    /// What this rank tells the others at a step's end; empty: nothing.
    std::function<Notices()> notices = {};
    DeviceLinks links = DeviceLinks::host;
    ReductionOrder reduction = ReductionOrder::lanes;
    /// Not with optimizers or loss scales that take more than a norm; see rules.cpp. No update is
    /// optimistic before so many steps in a row have been neither clipped nor skipped.
    bool post_validation = false;
    int trusted_after = 8;
  };
  TrainingStep(layers::Backend& backend, layers::Stream& stream, const RankGrid& grid, Stage& stage,
               const Options& options);

  /// `work` is this replica's share; `next` that of the step behind it, where nothing else reads
  /// features before: then its first features reach the device while this one computes. A gradient
  /// that is not finite changes nothing but `clock.step` and the loss scale. Returns a report of
  /// each step that has been agreed on since the last call: this one or, with post-validation, the
  /// one before. It has step, loss, learning_rate, gradient_norm, loss_scale, skipped,
  /// failed_utterances and notices (of all ranks).
  std::vector<StepReport> run(StepWork work, const ReadFeatures& read_features,
                              TrainingClock& clock, const StepWork* next = nullptr);

  /// Agrees on the last step, if that is still open: before this, clock, weights and loss scale are
  /// optimistic ones.
  std::optional<StepReport> flush(TrainingClock& clock);

  /// Updates so far that were rolled back, and all optimistic ones.
  std::int64_t rolled_back() const { return rolled_back_; }
  std::int64_t optimistic() const { return optimistic_; }

  /// From now on, has `watch` see every action of this rank, the step's last among them (from when
  /// gradients are whole); empty: nobody.
  using Watch = std::function<void(const partition::Action&, Moment)>;
  void watch(Watch watch) { watch_ = std::move(watch); }

  /// Of the next step, where none is open.
  LossScale& loss_scale() { return loss_scale_; }
  const LossScale& loss_scale() const { return loss_scale_; }

  /// Bytes that wait for other replicas' gradients.
  std::size_t reduction_bytes() const { return reduction_.staging(); }

  /// Moves whatever is under way; long computations call it.
  void progress();

 private:
  /// A step whose gradients are whole.
  struct Ended {
    StepSums sums;
    std::vector<double> told;  // losses, failed utterances behind them, and notices
    std::int64_t failed = 0;   // utterances on this rank, up to this step
    /// Of each lane here, numbers in StepWork::micro_batches, in canonical order.
    std::vector<std::vector<int>> micro_batches = {};
    double scale = 1, loss_scale = 1, learning_rate = 0;
    std::int64_t step = 0, optimizer_steps = 0;  // this one included
    std::optional<layers::GradientNormResult> result = {};
    bool plain() const { return result->skip == 0 && result->clip_coefficient == 1 / loss_scale; }
  };

  double optimistic_scale() const;
  void read_ahead(const StepWork& next, const ReadFeatures& read_features);
  StepSums forward_and_backward(const StepWork& work, KeptFeatures& features);
  Ended end(StepSums sums, const StepWork& work, TrainingClock& clock);
  /// `meanwhile` is called when everything has been asked for, before the wait.
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
  std::unique_ptr<RollbackBuffer> rollback_;  // with post-validation
  int cautious_for_;                          // steps to come that are agreed on at once
  std::optional<Ended> open_;                 // updated, not yet agreed on
  std::int64_t optimistic_ = 0, rolled_back_ = 0;
  std::exception_ptr unread_;  // why the next step's features are not there
  Watch watch_;
};

}  // namespace penstock::runtime
