#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/corpus/failed_audio.h"
#include "runtime/pipeline/session.h"
#include "runtime/trainer/early_stopping.h"
#include "runtime/trainer/mirror.h"
#include "runtime/trainer/planned_training.h"
#include "runtime/trainer/run_checkpoints.h"
#include "runtime/trainer/run_log.h"
#include "runtime/trainer/saving.h"
#include "runtime/trainer/skipped_steps.h"
#include "runtime/trainer/step_loader.h"
#include "runtime/trainer/training_step.h"

namespace penstock::runtime {

/// One rank of a planned training, from the step after its checkpoint to its last checkpoint.
/// trainer.cpp calls the methods in order. Every method is called by all ranks together.
class TrainingRun {
 public:
  /// Creates this rank's stage, restores the checkpoint if there is one, prepares the output folder
  /// and reports the beginning to the observer. Errors as from Session; CheckpointError as from
  /// check_shared_output and Saving::restore.
  explicit TrainingRun(PlannedTraining training);
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  bool finished() const { return stopping_ || early_stopping_.due() || clock_.step >= end_step(); }
  /// Runs one step. DivergenceError as from SkippedSteps.
  void step();

  /// True if a validation is due after the last step. A stop request postpones it until the run is
  /// resumed, unless the run is complete.
  bool validation_due() const {
    return (!stopping_ || clock_.step >= end_step()) && validation_due_before(clock_.step);
  }
  /// True if a resumed run must validate at its first step, because it was stopped before that
  /// validation.
  bool validation_missed() const { return missed_; }
  void validate();

  bool checkpoint_due();
  /// Begins to write a checkpoint, after waiting for an earlier save. `best`, if set, makes it the
  /// best one so far.
  void save(const std::optional<BestCheckpoint>& best = {});
  /// Advances the current save according to the notices of the last step.
  void advance_save();
  void await_save();

  /// Saves the last state and returns the summary. DivergenceError if the run ends in divergence.
  /// CheckpointError if the state cannot be saved.
  TrainingSummary finish();

 private:
  const RunContext& context() const { return training_.prepared.context; }
  const configs::Config& config() const { return training_.prepared.config; }
  Activity& activity() const { return *context().activity; }
  /// Returns the step at which the run ends.
  std::int64_t end_step() const { return scaling_.end_step(config().trainer.steps); }

  void require_shared_output();
  std::unique_ptr<Mirror> make_mirror();
  std::unique_ptr<RunCheckpoints> make_checkpoints();
  void write_beside();
  std::unique_ptr<TrainingStep> make_step();
  void record_actions();
  void restore(const Checkpoint& checkpoint);
  void recall_validations(const TrainingState& saved);
  void begin();

  void record_early_end();
  void finish_uploads();
  void announce_ahead();
  void record(const StepReport& result);
  void flush();
  bool begins_epoch(std::int64_t step) const;
  bool validation_due_before(std::int64_t step) const;
  std::optional<StepWork> next_to_read();
  bool checkpoint_time() const;
  Notices own_notices() const;
  TrainingState state() const;

  PlannedTraining training_;
  BatchScaling scaling_;
  Session session_;
  std::unique_ptr<StepLoader> loader_;
  std::unique_ptr<TrainingStep> training_step_;
  Saving saving_;
  std::unique_ptr<Mirror> mirror_;  // rank 0 of a run that uploads its checkpoints
  std::unique_ptr<RunCheckpoints> checkpoints_;
  EarlyStopping early_stopping_;
  RunLog log_;
  TrainingClock clock_;
  std::int64_t announced_ = 0;  // steps whose micro-batches are announced to the loader
  Notices heard_;               // notices from the end of the last agreed step
  bool stopping_ = false;       // a stop was requested
  bool missed_ = false;         // validation of the resumed step is still to do
  SkippedSteps skipped_;
  FailedAudio failed_audio_;
};

}  // namespace penstock::runtime
