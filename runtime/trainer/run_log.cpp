#include "runtime/trainer/run_log.h"

#include <string>

#include "runtime/checkpoint/output_folder.h"

namespace penstock::runtime {

void RunLog::open(const std::filesystem::path& output, const EventStart& start) {
  const auto note = [this](const std::string& text) { context_.note(text); };
  metrics_ = std::make_unique<MetricsFile>(output / kMetricsFile, start.last_step, note);
  events_ = std::make_unique<EventFile>(output, start, note);
}

// Steps are agreed on in the order in which they ran. So the result belongs to the oldest open
// step, which knows what the ranks need not agree on: epoch, utterances and times.
StepReport RunLog::record(StepReport result) {
  const StepReport& known = open_steps_.front();
  result.epoch = known.epoch;
  result.utterances = known.utterances;
  result.audio_seconds = known.audio_seconds;
  result.step_seconds = known.step_seconds;
  open_steps_.pop_front();

  summary_.last_step = result;
  ++summary_.steps;
  summary_.audio_seconds += result.audio_seconds;
  summary_.seconds += result.step_seconds;
  if (context_.leads()) {
    metrics_->write(result);
    events_->write(result);
    if (context_.observer.step) context_.observer.step(result);
  }
  return result;
}

void RunLog::record(const EvaluationReport& report) {
  summary_.last_validation = report;
  if (!context_.leads()) return;
  metrics_->write(report);
  events_->write(report);
  if (context_.observer.validation) context_.observer.validation(report);
}

}  // namespace penstock::runtime
