#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/reports/training/reported_run.h"

namespace penstock::tools {

/// A row of a table that has a column for each run.
struct RunRow {
  std::string name;
  std::vector<std::string> values;  // plain text; "" where a run has none
  bool operator==(const RunRow&) const = default;
};

/// Returns the figures of runs: steps, losses, error rates, speed and sizes. Rows in which no run
/// has a value are left out.
[[nodiscard]] std::vector<RunRow> run_figures(std::span<const ReportedRun> runs);

/// Returns the keys of the recipes that differ between runs whose checkpoints state them, in
/// alphabetical order; for a single run those that differ from their defaults, and those of its
/// family of models. trainer.output, which names a run, is left out.
[[nodiscard]] std::vector<RunRow> run_settings(std::span<const ReportedRun> runs);

/// Returns one sentence on a run: how far it is, its best validation, and its speed.
[[nodiscard]] std::string run_headline(const ReportedRun& run);

}  // namespace penstock::tools
