#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "comm/communicator.h"
#include "runtime/trainer/event_file.h"
#include "runtime/trainer/metrics.h"
#include "runtime/trainer/report.h"
#include "runtime/trainer/trainer.h"

namespace penstock::runtime {

/// The environment of a run: its ranks, the observer on rank 0, and the stop request.
struct RunContext {
  comm::Communicator& world;
  TrainingObserver observer;
  std::function<bool()> stop_asked = {};  // see TrainingTask
  std::shared_ptr<Activity> activity = std::make_shared<Activity>();
  std::int64_t incarnation = 0;  // see TrainingTask

  bool leads() const { return world.rank() == 0; }
  void note(const std::string& text) const {
    activity->advance();
    if (leads() && observer.note) observer.note(text);
  }
};

/// Writes what a run reports: metrics.jsonl, TensorBoard's event file and the observer on rank 0,
/// and the summary on every rank. With post-validation a step's result is known only during the
/// next one, so the log keeps the data of steps whose result is still open.
class RunLog {
 public:
  /// `context` must outlive it.
  explicit RunLog(const RunContext& context) : context_(context) {}

  /// Opens metrics.jsonl after the lines that are kept, and a new event file, on rank 0. FileError
  /// if they can't be written.
  void open(const std::filesystem::path& output, KeptLines kept, const configs::Config& recipe);
  /// Returns true if the file has a validation of `last_step`. On rank 0, after open().
  bool validated() const { return metrics_->validated(); }

  /// Adds a step that has run; the caller sets epoch, utterances and seconds.
  StepReport& add_step() { return open_steps_.emplace_back(); }
  /// Completes the oldest open step with the result that all ranks agreed on. Returns the whole.
  StepReport record(StepReport result);
  void record(const EvaluationReport& report);
  void record(const EarlyEnd& end);

  TrainingSummary& summary() { return summary_; }
  const TrainingSummary& summary() const { return summary_; }

 private:
  const RunContext& context_;
  std::unique_ptr<MetricsFile> metrics_;  // rank 0 only
  std::unique_ptr<EventFile> events_;     // rank 0 only
  std::deque<StepReport> open_steps_;
  TrainingSummary summary_;
};

}  // namespace penstock::runtime
