#include "runtime/trainer/run_log.h"

#include <fmt/format.h>

#include <string>

#include "configs/flatten.h"
#include "runtime/checkpoint/output_folder.h"

namespace penstock::runtime {

namespace {

/// Returns a line for each key of the recipe.
std::string key_lines(const configs::Config& recipe) {
  std::string lines;
  for (const auto& [key, value] : configs::flatten(recipe))
    lines += fmt::format("{} = {}\n", key, value);
  return lines;
}

}  // namespace

void RunLog::open(const std::filesystem::path& output, KeptLines kept,
                  const configs::Config& recipe) {
  const auto note = [this](const std::string& text) { context_.note(text); };
  metrics_ = std::make_unique<MetricsFile>(output / kMetricsFile, kept, note);
  events_ = std::make_unique<EventFile>(
      output, EventStart{.last_step = kept.last_step, .recipe = key_lines(recipe)}, note);
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

void RunLog::record(const EarlyEnd& end) {
  summary_.early_end = end.reason;
  if (context_.leads()) metrics_->write(end);
}

}  // namespace penstock::runtime
