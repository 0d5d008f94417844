#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "configs/config.h"
#include "runtime/optim/loss_scale.h"
#include "runtime/optim/optimizer.h"
#include "runtime/pipeline/gradient_reduction.h"
#include "runtime/pipeline/grid.h"
#include "runtime/pipeline/stage.h"
#include "runtime/ranks/gradient_agreement.h"
#include "runtime/trainer/report.h"

namespace penstock {

/// Where training stands between two steps.
struct TrainingClock {
  std::int64_t step = 0;   // steps run, skipped ones included
  std::int64_t taken = 0;  // steps that changed the model: the clock of optimizer and schedule
};

/// One step on this rank: forward and backward through the pipeline, gradients added over lanes and
/// replicas while backward still runs, norm and losses agreed by all ranks, one update. On devices
/// that meet over NCCL all of it is asked for before anything is waited for, but for optimizers
/// that take norms.
class TrainingStep {
 public:
  struct Options {
    OptimizerConfig optimizer;
    ScheduleConfig schedule;
    PrecisionConfig precision;
    std::int64_t bucket_bytes = 4 << 20;
    std::int64_t model_blocks = 0;    // norm blocks of the whole model
    std::vector<int> lanes_of = {1};  // each replica
    /// Utterances that have failed on this rank so far; empty: it reads none.
    std::function<std::int64_t()> failed = {};
    DeviceLinks links = DeviceLinks::host;
    ReductionOrder reduction = ReductionOrder::lanes;
  };
  TrainingStep(Backend& backend, Stream& stream, const Grid& grid, Stage& stage,
               const Options& options);

  /// `work` is this replica's share. A gradient that is not finite changes nothing but
  /// `clock.step` and the loss scale. Fills step, loss, learning_rate, gradient_norm, loss_scale,
  /// skipped and failed_utterances (of all ranks) of the report.
  StepReport run(StepWork work, const ReadFeatures& read_features, TrainingClock& clock);

  /// From now on, has `watch` see every action of this rank, the step's last among them (from when
  /// gradients are whole); empty: nobody.
  using Watch = std::function<void(const Action&, Moment)>;
  void watch(Watch watch) { watch_ = std::move(watch); }

  /// Of the next step.
  LossScale& loss_scale() { return loss_scale_; }
  const LossScale& loss_scale() const { return loss_scale_; }

  /// Bytes that wait for other replicas' gradients.
  std::size_t reduction_bytes() const { return reduction_->staging(); }

  /// Moves whatever is under way; long computations call it.
  void progress();

 private:
  StepReport agree_and_update(StepSums sums, const StepWork& work, TrainingClock& clock);
  StepSums forward_and_backward(const StepWork& work, const ReadFeatures& read_features);
  void layer_whole(std::size_t layer);
  void start_buckets(std::size_t whole_from);
  std::vector<double> tell(StepSums& sums);
  void update(const Verdict* verdict, double learning_rate, std::int64_t step);

  Backend& backend_;
  Stream& stream_;
  const Grid& grid_;
  Stage& stage_;
  Options options_;
  std::unique_ptr<Optimizer> optimizer_;
  LossScale loss_scale_;
  LaneReductionPlan reduction_plan_;
  std::unique_ptr<GradientReduction> reduction_;
  GradientAgreement agreement_;
  Watch watch_;
  int next_bucket_ = 0;           // buckets from here on have been started
  std::vector<bool> whole_;       // layers of the stage whose gradients are
  std::size_t whole_behind_ = 0;  // all layers from here on are
};

}  // namespace penstock
