#include "tools/sweep/sweep_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/file_handle.h"
#include "runtime/checkpoint/output_folder.h"
#include "tools/cli/process_end.h"
#include "tools/reports/training/run_history.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;

/// Returns the text of a file, or nothing if there is none.
std::optional<std::string> text_if_there(const fs::path& file) try {
  return read_file(file);
} catch (const FileError& error) {
  if (!error.missing()) throw;
  return std::nullopt;
}

void write_text(const fs::path& file, const std::string& text) {
  if (!atomic_write(file, text))
    throw ConfigError(
        fmt::format("--output: can't write {}: {}", file.string(), why_unwritable(file)));
}

std::optional<double> metric_value(const ValidationRecord& record, const std::string& metric) {
  const std::optional<double> value = metric == "wer"   ? record.wer
                                      : metric == "cer" ? record.cer
                                                        : record.loss;
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace

std::string SweepFolder::name(std::size_t run) { return fmt::format("run-{:03}", run); }

void SweepFolder::open(SweepPlan& plan) const {
  const fs::path file = path_ / "sweep.json";
  std::error_code error;
  if (const auto text = text_if_there(file)) {
    const SweepPlan saved = parse_sweep(*text, file.string());
    if (const auto lines = sweep_differences(saved, plan); !lines.empty())
      throw ConfigError(
          fmt::format("{} holds another sweep. Continue it with the same settings, or name another "
                      "folder by --output. What differs:\n  {}",
                      path_.string(), fmt::join(lines, "\n  ")));
    std::ranges::copy(saved.points, plan.points.begin());
    if (saved.points.size() == plan.points.size()) return;
  } else if (fs::exists(path_, error) && !fs::is_empty(path_, error)) {
    throw ConfigError(
        fmt::format("--output: {} is no sweep, as it has no sweep.json, and it is not empty: name "
                    "a new folder",
                    path_.string()));
  }
  fs::create_directories(path_, error);
  write_text(file, sweep_json(plan));
}

void SweepFolder::record(std::size_t run, const RunEnd& end) const {
  const nlohmann::ordered_json json{{"code", end.code}, {"steps", end.steps}, {"error", end.error}};
  write_text(end_file(run),
             json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
}

std::optional<int> SweepFolder::code(std::size_t run) const {
  const std::optional<RunEnd> ended = end(run);
  return ended ? std::optional(ended->code) : std::nullopt;
}

void SweepFolder::forget_failure(std::size_t run) const {
  std::error_code error;
  if (const auto ended = end(run); ended && ended->code != exit_done)
    fs::remove(end_file(run), error);
}

std::optional<RunEnd> SweepFolder::end(std::size_t run) const {
  const auto text = text_if_there(end_file(run));
  if (!text) return std::nullopt;
  try {
    const auto json = nlohmann::json::parse(*text);
    return RunEnd{json.at("code").get<int>(), json.at("steps").get<std::int64_t>(),
                  json.at("error").get<std::string>()};
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(fmt::format("{} can't be read: {}. Remove it to train the run again",
                                  end_file(run).string(), error.what()));
  }
}

RunResult SweepFolder::result(std::size_t run, const std::string& metric,
                              std::int64_t steps) const {
  RunResult result;
  const std::optional<RunEnd> ended = end(run);
  const auto text = text_if_there(output(run) / runtime::kMetricsFile);
  if (text) {
    const RunHistory history = parse_history(*text);
    result.state = RunState::begun;
    if (!history.steps.empty()) result.step = history.steps.back().step;
    for (const ValidationRecord& record : history.validations) {
      const auto value = metric_value(record, metric);
      if (record.step > steps || !value || (result.best && *result.best <= *value)) continue;
      result.best = value;
      result.best_step = record.step;
    }
  }
  if (!ended) return result;
  if (ended->code != exit_done) {
    result.state = RunState::failed;
    result.error = ended->error;
  } else {
    result.state = ended->steps >= steps ? RunState::done : RunState::paused;
  }
  return result;
}

}  // namespace penstock::tools
