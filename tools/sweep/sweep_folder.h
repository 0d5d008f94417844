#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tools/sweep/sweep_plan.h"

namespace penstock::tools {

enum class RunState {
  waiting,  // nothing is there yet
  begun,    // stopped, or still training
  paused,   // at the end of a rung of successive halving
  done,     // all steps that were asked for are trained, or it ended early
  failed,
};

/// A RunEnd says how a run was left when its process ended.
struct RunEnd {
  int code = 0;            // the exit code of the training
  std::int64_t steps = 0;  // the steps that it was to reach
  std::string error = {};
  std::int64_t done = 0;  // of a failure, the steps of the last rung that it had reached before
};

/// A RunResult holds what is known of a run.
struct RunResult {
  RunState state = RunState::waiting;
  std::int64_t step = 0;            // the last one that metrics.jsonl records
  std::optional<double> best = {};  // the lowest finite metric; rates are fractions
  std::int64_t best_step = 0;
  std::string error = {};  // of a failed run
};

/// The lock of a sweep's folder, beside sweep.json.
inline constexpr std::string_view kSweepLock = ".sweep";

/// The folder of a sweep: sweep.json, and for run 7 the output folder run-007, its log run-007.log
/// and, once its process has ended by itself, run-007.json.
class SweepFolder {
 public:
  explicit SweepFolder(std::filesystem::path path) : path_(std::move(path)) {}

  /// Returns what sweep.json holds, or nothing if there is none. ConfigError if it is no sweep.
  std::optional<SweepPlan> saved() const;
  /// Returns true if the folder holds this sweep with all its runs, and false if it is to be begun
  /// or to grow. ConfigError if it holds another sweep or something else. It changes nothing.
  [[nodiscard]] bool holds(const SweepPlan& plan) const;
  /// Begins or continues a sweep: writes sweep.json, unless the folder holds the sweep. The caller
  /// has the folder's lock. ConfigError as by holds(), or if it can't be written.
  void open(const SweepPlan& plan) const;

  const std::filesystem::path& path() const { return path_; }
  /// Runs are numbered from 1.
  std::filesystem::path output(std::size_t run) const { return path_ / name(run); }
  std::filesystem::path log(std::size_t run) const { return path_ / (name(run) + ".log"); }
  static std::string name(std::size_t run);

  /// Records how a run ended; FileError.
  void record(std::size_t run, const RunEnd& end) const;
  /// Returns the exit code of a run whose process has ended by itself.
  std::optional<int> code(std::size_t run) const;
  /// Forgets that a run failed, so that it is tried again, from the rung in which it failed.
  /// FileError.
  void forget_failure(std::size_t run) const;

  /// Reads a run's result. A run counts as done if it was to reach at least `steps`, and has, also
  /// if it failed in a later rung.
  /// Validations after `steps` do not count, so that a rung is judged alike whenever it is asked
  /// for.
  RunResult result(std::size_t run, const std::string& metric, std::int64_t steps) const;

 private:
  std::filesystem::path end_file(std::size_t run) const { return path_ / (name(run) + ".json"); }
  std::optional<RunEnd> end(std::size_t run) const;
  void write_end(std::size_t run, const RunEnd& end) const;

  std::filesystem::path path_;
};

}  // namespace penstock::tools
