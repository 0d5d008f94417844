#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/sweep/sweep_folder.h"
#include "tools/sweep/sweep_plan.h"

namespace penstock::tools {

/// A run of a sweep, as it is now.
struct SweptRun {
  std::size_t number = 0;  // from 1
  std::string output = {};
  RunResult result = {};
};

/// A SweepOutcome holds what came of a sweep so far: all runs, by their numbers.
struct SweepOutcome {
  std::string folder = {};
  SweepPlan plan = {};
  std::vector<SweptRun> runs = {};
};

/// Returns the places of the runs in `runs`, those with the lowest metric first; of equal ones the
/// first. Runs without a metric follow, and failed ones are last.
[[nodiscard]] std::vector<std::size_t> ranked_runs(const SweepOutcome& outcome);

/// Returns the place of the best run in `runs`; nothing if each run has failed or has no metric.
[[nodiscard]] std::optional<std::size_t> best_run(const SweepOutcome& outcome);

/// Returns short names of the keys: what follows the section, if no other key has that name.
[[nodiscard]] std::vector<std::string> short_keys(const SweepPlan& plan);

/// Returns "learning_rate=1e-3 hidden=160", the values of a run by its number.
[[nodiscard]] std::string settings_text(const SweepPlan& plan, std::size_t run);

/// Returns "WER", "CER" or "loss".
[[nodiscard]] std::string metric_name(const std::string& metric);
/// Returns "23.40 %", or for a loss "35.86".
[[nodiscard]] std::string metric_text(const std::string& metric, double value);
/// Returns "WER 23.40 % at step 400", or "no finite WER".
[[nodiscard]] std::string result_text(const SweepPlan& plan, const RunResult& result);
/// Returns what became of a run: "done", "failed", "stopped at step 300".
[[nodiscard]] std::string state_text(const RunResult& result);

/// Returns the table of all runs, ranked, in lines of at most `columns`; then the errors of failed
/// runs, and the checkpoint of the best run.
[[nodiscard]] std::string sweep_table(const SweepOutcome& outcome, std::size_t columns);

/// Returns the runs, ranked, as comma-separated values (RFC 4180): number, values, metric, its
/// step, the last step, state, output folder, error. Rates are fractions.
[[nodiscard]] std::string sweep_csv(const SweepOutcome& outcome);

}  // namespace penstock::tools
