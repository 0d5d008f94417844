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

constexpr const char* kSweepFile = "sweep.json";

/// Returns the text of a file, or nothing if there is none.
std::optional<std::string> text_if_there(const fs::path& file) try {
  return read_file(file);
} catch (const FileError& error) {
  if (!error.missing()) throw;
  return std::nullopt;
}

/// Returns true for what a sweep leaves that was killed before its sweep.json was complete.
bool is_beginning(const std::string& name) {
  return name == kSweepLock || (name.starts_with("sweep.json.") && name.ends_with(".partial"));
}

bool holds_others_files(const fs::path& folder) {
  std::error_code error;
  return std::ranges::any_of(fs::directory_iterator(folder, error), [](const auto& entry) {
    return !is_beginning(entry.path().filename().string());
  });
}

std::optional<double> metric_value(const ValidationRecord& record, const std::string& metric) {
  const std::optional<double> value = metric == "wer"   ? record.wer
                                      : metric == "cer" ? record.cer
                                                        : record.loss;
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace

std::string SweepFolder::name(std::size_t run) { return fmt::format("run-{:03}", run); }

std::optional<SweepPlan> SweepFolder::saved() const {
  const fs::path file = path_ / kSweepFile;
  const auto text = text_if_there(file);
  return text ? std::optional(parse_sweep(*text, file.string())) : std::nullopt;
}

bool SweepFolder::holds(const SweepPlan& plan) const {
  const std::optional<SweepPlan> before = saved();
  if (!before) {
    if (!holds_others_files(path_)) return false;
    throw ConfigError(
        fmt::format("--output: {} is no sweep, as it has no sweep.json, and it is not empty: name "
                    "a new folder",
                    path_.string()));
  }
  if (const auto lines = sweep_differences(*before, plan); !lines.empty())
    throw ConfigError(
        fmt::format("{} holds another sweep. Continue it with the same settings, or name another "
                    "folder by --output. What differs:\n  {}",
                    path_.string(), fmt::join(lines, "\n  ")));
  return before->points.size() == plan.points.size();
}

void SweepFolder::open(const SweepPlan& plan) const {
  if (holds(plan)) return;
  std::error_code error;
  fs::create_directories(path_, error);
  try {
    write_durably(path_ / kSweepFile, sweep_json(plan));
  } catch (const FileError& failed) {
    throw ConfigError(fmt::format("--output: {}", failed.what()));
  }
}

void SweepFolder::record(std::size_t run, const RunEnd& now) const {
  std::int64_t done = 0;
  if (const auto before = end(run); before && now.code != exit_done)
    done = before->code == exit_done ? before->steps : before->done;
  write_end(run, {now.code, now.steps, now.error, done});
}

void SweepFolder::write_end(std::size_t run, const RunEnd& end) const {
  const nlohmann::ordered_json json{
      {"code", end.code}, {"steps", end.steps}, {"error", end.error}, {"done", end.done}};
  write_durably(end_file(run),
                json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n');
}

std::optional<int> SweepFolder::code(std::size_t run) const {
  const std::optional<RunEnd> ended = end(run);
  return ended ? std::optional(ended->code) : std::nullopt;
}

void SweepFolder::forget_failure(std::size_t run) const {
  const auto ended = end(run);
  if (!ended || ended->code == exit_done) return;
  std::error_code error;
  if (ended->done > 0)
    write_end(run, {.code = exit_done, .steps = ended->done});
  else
    fs::remove(end_file(run), error);
}

std::optional<RunEnd> SweepFolder::end(std::size_t run) const {
  const auto text = text_if_there(end_file(run));
  if (!text) return std::nullopt;
  try {
    const auto json = nlohmann::json::parse(*text);
    return RunEnd{json.at("code").get<int>(), json.at("steps").get<std::int64_t>(),
                  json.at("error").get<std::string>(), json.at("done").get<std::int64_t>()};
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
  const bool failed = ended->code != exit_done;
  if ((failed ? ended->done : ended->steps) >= steps) {
    result.state = RunState::done;
  } else {
    result.state = failed ? RunState::failed : RunState::paused;
    result.error = ended->error;
  }
  return result;
}

}  // namespace penstock::tools
