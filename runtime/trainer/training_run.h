#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/corpus/failed_audio.h"
#include "runtime/pipeline/session.h"
#include "runtime/trainer/best_validation.h"
#include "runtime/trainer/checkpoint_writer.h"
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

  bool finished() const { return stopping_ || clock_.step >= config_.trainer.steps; }
  /// DivergenceError as from SkippedSteps.
  void step();

  /// Where a run stops, what is due waits until it goes on, or else is done.
  bool validation_due() const {
    return (!stopping_ || clock_.step >= config_.trainer.steps) &&
           validation_due_before(clock_.step);
  }
  /// Of the step where a run that goes on was stopped.
  bool validation_missed() const { return missed_; }
  void validate();

  bool checkpoint_due();
  /// Begins to write a checkpoint, which `best` says is the best so far. One that is under way is
  /// waited for.
  void save(const std::optional<BestCheckpoint>& best = {});
  /// What all ranks told at the end of the last step moves the checkpoint that is being written.
  void go_on_saving();
  void await_save();

  /// Saves where the run stops. DivergenceError if it stops in that, CheckpointError if that can't
  /// be saved.
  TrainingSummary finish();

 private:
  using Clock = std::chrono::steady_clock;

  void require_shared_output();
  std::unique_ptr<CheckpointWriter> make_writer();
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
  bool checkpoint_time() const;
  Notices own_notices() const;
  void settle(const SaveOutcome& outcome);
  TrainingState state() const;

  PlannedTraining training_;
  const RunContext& context_;
  const configs::Config& config_;
  Session session_;
  std::unique_ptr<StepLoader> loader_;
  std::unique_ptr<TrainingStep> training_step_;
  Saving saving_;
  std::unique_ptr<CheckpointWriter> writer_;
  std::unique_ptr<MetricsFile> metrics_;  // rank 0 only

  TrainingClock clock_;
  std::deque<StepReport> under_way_;  // what is known of steps that are not yet agreed on
  std::int64_t announced_ = 0;        // steps whose micro-batches the loader knows
  Notices heard_;                     // at the end of the last step that is agreed on
  bool stopping_ = false;             // on request
  bool missed_ = false;               // a validation of the step that the run goes on from
  std::int64_t saved_ = -1;           // the last step whose checkpoint is whole or under way
  Clock::time_point saved_at_ = Clock::now();
  SaveOutcome failed_{.step = -1};  // the last that did
  SkippedSteps skipped_;
  FailedAudio failed_audio_;
  BestValidation best_;
  std::optional<BestValidation> best_before_;  // while a new best is being written
  std::vector<Correction> corrections_;        // of the whole run
  TrainingSummary summary_;
};

}  // namespace penstock::runtime
