#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "comm/communicator.h"
#include "configs/config.h"
#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// What a run tells whoever started it, on rank 0. Empty functions are not called.
struct TrainingObserver {
  /// Before the first step: how many steps are done and where the run stops.
  std::function<void(std::int64_t done, std::int64_t steps)> begin;
  std::function<void(const StepReport&)> step;
  std::function<void(const EvaluationReport&)> validation;
  std::function<void(const std::string&)> note;
};

struct TrainingSummary {
  StepReport last_step;
  EvaluationReport last_validation;  // utterances 0: none was run
  std::int64_t steps = 0;            // of this run
  std::int64_t skipped = 0;          // of them, steps that changed nothing
  std::int64_t utterances = 0;       // in the training manifest
  std::int64_t parameters = 0;
  double audio_seconds = 0, seconds = 0;  // of this run's steps
  std::filesystem::path checkpoint;       // the last one
  bool stopped = false;                   // on request, before trainer.steps
};

struct TrainingTask {
  configs::Config recipe;
  bool alone = false;  // one rank does the work of all stages and replicas, and gets the same bits
  /// Whether somebody wants the run to end: asked at the end of every step, and once before the
  /// first. Where any rank says so, all save and return. Empty: nobody does.
  std::function<bool()> stop_asked = {};
};

/// Trains as the recipe says until trainer.steps, over the ranks of `world`, of which there must be
/// as many as stages × replicas unless one works alone. Writes metrics.jsonl and checkpoints to
/// trainer.output. All ranks call it. ConfigError, DeviceError, DataError and CheckpointError
/// before the first step for what can be known then; later DivergenceError, and CheckpointError
/// where the last checkpoint can't be written. One that can't be written before is only told.
TrainingSummary train(const TrainingTask& task, comm::Communicator& world,
                      const TrainingObserver& observer);

}  // namespace penstock::runtime
