#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>

#include "runtime/checkpoint/output_lock.h"
#include "runtime/corpus/corpus.h"
#include "runtime/corpus/corpus_work.h"
#include "runtime/corpus/failed_audio.h"
#include "runtime/corpus/feature_feed.h"
#include "runtime/data/steps.h"
#include "runtime/pipeline/session.h"
#include "runtime/planning/run_shape.h"
#include "runtime/text/alphabet.h"
#include "runtime/trainer/best_validation.h"
#include "runtime/trainer/metrics.h"
#include "runtime/trainer/saving.h"
#include "runtime/trainer/skipped_steps.h"
#include "runtime/trainer/trainer.h"
#include "runtime/trainer/training_step.h"

namespace penstock {

/// One rank of a training, from its recipe to its last checkpoint; trainer.cpp says in which order.
/// Every method is called by all ranks together.
class TrainingRun {
 public:
  /// Reads the data, plans, and takes this rank's place. Nothing is written yet but caches.
  TrainingRun(const TrainingTask& task, Communicator& world, const TrainingObserver& observer);

  /// Goes on from the newest checkpoint if the recipe says so; makes the output folder ready.
  void resume();

  bool finished() const { return clock_.step >= config_.trainer.steps; }
  /// DivergenceError as from SkippedSteps.
  void step();

  bool validation_due() const;
  void validate();

  bool checkpoint_due();
  void save();

  /// Saves where the run stops. DivergenceError if it stops in that.
  TrainingSummary finish();

 private:
  using Clock = std::chrono::steady_clock;

  void flush();
  void record(StepReport report);
  Corpus load(const std::string& manifest, CorpusUse use);
  StepSequenceOptions steps_of(const Config& config) const;
  void take_order(const std::vector<int>& order);
  RunShape shape_of(const Config& config, const StepSequence& steps) const;
  /// What would fit where each rank may take so many bytes.
  std::string fitting(std::size_t bytes) const;
  ReductionOrder reduction() const;
  void work_alone();
  Plan shared_plan(const RunShape& shape);
  void reserve_buffers(const RunShape& shape);
  void recall_best(const TrainingState& saved);
  void announce_ahead();
  bool epoch_ends() const;
  bool checkpoint_time();
  TrainingState state() const;
  bool leads() const { return world_.rank() == 0; }
  void note(const std::string& text) const;

  Config config_;
  Communicator& world_;
  TrainingObserver observer_;
  SkippedSteps skipped_;

  std::unique_ptr<OutputLock> lock_;  // rank 0 only
  Alphabet alphabet_;
  LayerSequence sequence_;
  std::optional<Checkpoint> start_;
  Corpus corpus_, validation_corpus_;
  std::unique_ptr<StepSequence> steps_;
  Plan plan_;
  std::unique_ptr<Session> session_;
  LaneShare lanes_;
  std::unique_ptr<TrainingStep> training_step_;
  std::unique_ptr<FeatureFeed> feed_;  // first stage only
  FailedAudio failed_audio_{0, 0};
  std::unique_ptr<Saving> saving_;
  std::unique_ptr<MetricsFile> metrics_;  // rank 0 only

  TrainingClock clock_;
  std::deque<StepReport> under_way_;  // what is known of steps that are not yet agreed on
  std::int64_t announced_ = 0;        // steps whose micro-batches the loader knows
  std::int64_t saved_ = -1;
  Clock::time_point saved_at_ = Clock::now();
  BestValidation best_{""};
  TrainingSummary summary_;
};

}  // namespace penstock
