#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "comm/communicator.h"
#include "configs/config.h"
#include "runtime/job/activity.h"
#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// Callbacks on rank 0. Empty functions are not called.
struct TrainingObserver {
  /// Called before the first step with the number of steps done and the number at which the run
  /// stops.
  std::function<void(std::int64_t done, std::int64_t steps)> begin;
  std::function<void(const StepReport&)> step;
  std::function<void(const EvaluationReport&)> validation;
  std::function<void(const std::string&)> note;
};

struct TrainingSummary {
  StepReport last_step;
  EvaluationReport last_validation;  // utterances = 0 if none was run
  std::int64_t steps = 0;            // steps of this run
  std::int64_t skipped = 0;          // steps of this run that changed nothing
  std::int64_t utterances = 0;       // utterances in the training manifest
  std::int64_t parameters = 0;
  double audio_seconds = 0, seconds = 0;  // sums over this run's steps
  std::filesystem::path checkpoint;       // the last checkpoint
  bool stopped = false;                   // true if a stop request ended it before trainer.steps
  /// Says why validations ended the run before trainer.steps, also if they had before it was
  /// resumed; else empty.
  std::string early_end = {};
};

struct TrainingTask {
  configs::Config recipe;
  /// True if one rank does the work of all stages and replicas. It computes the same bits.
  bool alone = false;
  /// Returns true if the run should end. It is called at the end of every step, and once before the
  /// first. If it is true on any rank, all ranks save and return. An empty function never stops the
  /// run.
  std::function<bool()> stop_asked = {};
  /// The record of what this rank does. The run writes it; a supervisor may read it.
  std::shared_ptr<Activity> activity = std::make_shared<Activity>();
  /// The number of the supervisor's incarnation; 0 if there is none. A save fails if a later
  /// incarnation has taken the output folder over.
  std::int64_t incarnation = 0;
};

/// Trains according to the recipe until trainer.steps, or until trainer.early_stopping_patience
/// validations brought no better one, on the ranks of `world`. Their number must be stages ×
/// replicas unless one rank works alone. Writes metrics.jsonl and checkpoints to
/// trainer.output. All ranks call it. Before the first step, throws ConfigError, DeviceError,
/// DataError and CheckpointError for everything that can be checked by then. Later, throws
/// DivergenceError, and CheckpointError if the last checkpoint cannot be written. Failures of
/// earlier checkpoints are only logged.
TrainingSummary train(const TrainingTask& task, comm::Communicator& world,
                      const TrainingObserver& observer);

}  // namespace penstock::runtime
