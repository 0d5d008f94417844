#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "runtime/corpus/failed_audio.h"
#include "runtime/pipeline/session.h"
#include "runtime/trainer/best_validation.h"
#include "runtime/trainer/metrics.h"
#include "runtime/trainer/planned_training.h"
#include "runtime/trainer/saving.h"
#include "runtime/trainer/skipped_steps.h"
#include "runtime/trainer/step_loader.h"
#include "runtime/trainer/training_step.h"

namespace penstock::runtime {

/// One rank of a planned training, from the step after its checkpoint to its last checkpoint;
/// trainer.cpp says in which order. Every method is called by all ranks together.
class TrainingRun {
 public:
  /// Takes this rank's place, goes on from the checkpoint if there is one, makes the output folder
  /// ready and tells the observer that the run begins. Errors as from Session, CheckpointError as
  /// from check_shared_output and Saving::restore.
  explicit TrainingRun(PlannedTraining training);
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  bool finished() const { return clock_.step >= config_.trainer.steps; }
  /// DivergenceError as from SkippedSteps.
  void step();

  bool validation_due() const { return validation_due_before(clock_.step); }
  void validate();

  bool checkpoint_due();
  void save();

  /// Saves where the run stops. DivergenceError if it stops in that.
  TrainingSummary finish();

 private:
  using Clock = std::chrono::steady_clock;

  void require_shared_output();
  std::unique_ptr<TrainingStep> make_step();
  void restore(const Checkpoint& checkpoint);
  void recall_best(const TrainingState& saved);
  void begin();

  void announce_ahead();
  void record(StepReport report);
  void flush();
  bool begins_epoch(std::int64_t step) const;
  bool validation_due_before(std::int64_t step) const;
  std::optional<StepWork> next_to_read();
  bool checkpoint_time();
  TrainingState state() const;

  PlannedTraining training_;
  const RunContext& context_;
  const configs::Config& config_;
  Session session_;
  std::unique_ptr<StepLoader> loader_;
  std::unique_ptr<TrainingStep> training_step_;
  Saving saving_;
  std::unique_ptr<MetricsFile> metrics_;  // rank 0 only

  TrainingClock clock_;
  std::deque<StepReport> under_way_;  // what is known of steps that are not yet agreed on
  std::int64_t announced_ = 0;        // steps whose micro-batches the loader knows
  std::int64_t saved_ = -1;
  Clock::time_point saved_at_ = Clock::now();
  SkippedSteps skipped_;
  FailedAudio failed_audio_;
  BestValidation best_;
  std::vector<Correction> corrections_;  // of the whole run
  TrainingSummary summary_;
};

}  // namespace penstock::runtime
