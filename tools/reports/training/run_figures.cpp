#include "tools/reports/training/run_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/quantities.h"
#include "configs/flatten.h"

namespace penstock::tools {
namespace {

constexpr std::size_t kLastSteps = 100;  // at most, whose mean loss is shown

std::string count_text(std::int64_t count) { return number_text(static_cast<double>(count)); }

bool is_finite(std::optional<double> value) { return value && std::isfinite(*value); }

std::string rate_text(std::optional<double> rate) {
  if (!rate) return "unknown";
  return std::isfinite(*rate) ? fmt::format("{:.2f} %", 100 * *rate) : "not finite";
}

std::string loss_text(std::optional<double> loss) {
  if (!loss) return "unknown";
  return std::isfinite(*loss) ? number_text(*loss) : "not finite";
}

/// Returns the value of a key of the run's recipe, or "" if it is unknown.
std::string setting(const ReportedRun& run, const std::string& key) {
  if (!run.state) return "";
  const auto found = run.state->config.find(key);
  return found == run.state->config.end() ? "" : found->second;
}

/// Returns the value of a key that is a whole number, or nothing.
std::optional<std::int64_t> whole_setting(const ReportedRun& run, const std::string& key) {
  const std::string text = setting(run, key);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct TrainedTime {
  double audio = 0, seconds = 0;
};

TrainedTime trained_time(const ReportedRun& run) {
  TrainedTime sum;
  for (const StepRecord& step : run.history.steps)
    if (is_finite(step.speed())) {
      sum.audio += *step.audio_seconds;
      sum.seconds += *step.step_seconds;
    }
  return sum;
}

std::int64_t last_step(const ReportedRun& run) {
  return run.history.steps.empty() ? 0 : run.history.steps.back().step;
}

std::string steps_text(const ReportedRun& run) {
  const auto planned = whole_setting(run, "trainer.steps");
  const std::string done = count_text(last_step(run));
  return planned ? fmt::format("{} of {}", done, count_text(*planned)) : done;
}

/// Returns the mean of the finite losses among the last steps, and how many these are. A skipped
/// step has none.
std::string last_losses_text(const ReportedRun& run) {
  const auto& steps = run.history.steps;
  if (steps.empty()) return "";
  std::int64_t finite = 0;
  double mean = 0;
  for (std::size_t i = steps.size() - std::min(kLastSteps, steps.size()); i < steps.size(); ++i)
    if (is_finite(steps[i].loss)) mean += (*steps[i].loss - mean) / static_cast<double>(++finite);
  if (finite == 0) return "not finite";
  if (finite == 1) return fmt::format("{}, of one step", loss_text(mean));
  return fmt::format("{}, mean of {} steps", loss_text(mean), finite);
}

using ValidationValueField = std::optional<double> ValidationRecord::*;

/// Returns the validation with the lowest finite value, or nothing.
std::optional<ValidationRecord> best_validation(const ReportedRun& run,
                                                ValidationValueField value) {
  std::optional<ValidationRecord> best;
  for (const ValidationRecord& each : run.history.validations)
    if (is_finite(each.*value) && (!best || each.*value < *best.*value)) best = each;
  return best;
}

std::string best_text(const ReportedRun& run, ValidationValueField value) {
  const auto best = best_validation(run, value);
  if (!best) return "";
  const std::optional<double> lowest = *best.*value;
  return fmt::format("{}, step {}",
                     value == &ValidationRecord::loss ? loss_text(lowest) : rate_text(lowest),
                     count_text(best->step));
}

std::string last_validation_text(const ReportedRun& run) {
  if (run.history.validations.empty()) return "";
  const ValidationRecord& last = run.history.validations.back();
  return fmt::format("loss {}, WER {}, CER {}", loss_text(last.loss), rate_text(last.wer),
                     rate_text(last.cer));
}

std::string skipped_text(const ReportedRun& run) {
  const auto skipped = std::ranges::count_if(run.history.steps, &StepRecord::skipped);
  return skipped == 0 ? "" : count_text(skipped);
}

std::string layout_text(const ReportedRun& run) {
  const auto stages = whole_setting(run, "pipeline.stages");
  const auto replicas = whole_setting(run, "pipeline.replicas");
  if (!stages || !replicas) return "";
  return fmt::format("{} × {}, {}", counted(*stages, "stage"), counted(*replicas, "replica"),
                     setting(run, "pipeline.schedule"));
}

std::string epoch_text(const ReportedRun& run) {
  return run.history.steps.empty() ? "" : count_text(run.history.steps.back().epoch + 1);
}

std::string speed_text(const ReportedRun& run) {
  const TrainedTime time = trained_time(run);
  return time.seconds > 0
             ? fmt::format("{} s of audio a second", number_text(time.audio / time.seconds))
             : "";
}

/// Returns hours, as corpora are measured, where there are many.
std::string audio_text(double seconds) {
  constexpr double kHour = 3600;
  if (seconds > 2 * kHour) return fmt::format("{} h", number_text(seconds / kHour));
  return seconds > 0 ? seconds_text(seconds) : "";
}

std::string seconds_or_none(double seconds) { return seconds > 0 ? seconds_text(seconds) : ""; }

struct Figure {
  const char* name;
  std::function<std::string(const ReportedRun&)> value;
};

std::vector<Figure> figures() {
  return {
      {"steps", steps_text},
      {"epochs begun", epoch_text},
      {"training loss at the end", last_losses_text},
      {"lowest validation loss",
       [](const ReportedRun& run) { return best_text(run, &ValidationRecord::loss); }},
      {"lowest WER", [](const ReportedRun& run) { return best_text(run, &ValidationRecord::wer); }},
      {"lowest CER", [](const ReportedRun& run) { return best_text(run, &ValidationRecord::cer); }},
      {"last validation", last_validation_text},
      {"throughput", speed_text},
      {"audio trained", [](const ReportedRun& run) { return audio_text(trained_time(run).audio); }},
      {"time in steps",
       [](const ReportedRun& run) { return seconds_or_none(trained_time(run).seconds); }},
      {"skipped steps", skipped_text},
      {"failed utterances",
       [](const ReportedRun& run) {
         const std::int64_t failed = run.history.failed_utterances;
         return failed == 0 ? std::string() : count_text(failed);
       }},
      {"ended early", [](const ReportedRun& run) { return run.history.early_end; }},
      {"layout", layout_text}};
}

}  // namespace

std::vector<RunRow> run_figures(std::span<const ReportedRun> runs) {
  std::vector<RunRow> rows;
  for (const Figure& figure : figures()) {
    RunRow row{figure.name, {}};
    for (const ReportedRun& run : runs) row.values.push_back(figure.value(run));
    if (std::ranges::any_of(row.values, [](const std::string& v) { return !v.empty(); }))
      rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<RunRow> run_settings(std::span<const ReportedRun> runs) {
  const configs::FlatConfig defaults = configs::flatten({});
  std::set<std::string> keys;
  for (const ReportedRun& run : runs)
    if (run.state)
      for (const auto& [key, value] : run.state->config) keys.insert(key);
  keys.erase("trainer.output");
  std::vector<RunRow> rows;
  for (const std::string& key : keys) {
    RunRow row{key, {}};
    std::set<std::string> different;
    for (const ReportedRun& run : runs) {
      row.values.push_back(setting(run, key));
      if (run.state) different.insert(row.values.back());
    }
    const auto usual = defaults.find(key);
    if (runs.size() == 1 && usual != defaults.end()) different.insert(usual->second);
    if (different.size() > 1 || (runs.size() == 1 && usual == defaults.end()))
      rows.push_back(std::move(row));
  }
  return rows;
}

std::string run_headline(const ReportedRun& run) {
  const std::int64_t named = whole_setting(run, "trainer.steps").value_or(last_step(run));
  std::string text = steps_text(run) + (named == 1 ? " step" : " steps");
  if (const auto best = best_validation(run, &ValidationRecord::wer))
    text += fmt::format("; lowest WER {} at step {}", rate_text(best->wer), count_text(best->step));
  if (const std::string speed = speed_text(run); !speed.empty()) text += "; " + speed;
  return text + '.';
}

}  // namespace penstock::tools
