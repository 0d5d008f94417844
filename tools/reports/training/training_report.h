#pragma once

#include <span>
#include <string>

#include "tools/reports/training/judged_results.h"
#include "tools/reports/training/reported_run.h"

namespace penstock::tools {

/// The runs that a report shows, at most kLineStyles, and evaluations of them.
struct ReportedRuns {
  std::span<const ReportedRun> runs;
  std::span<const JudgedResults> results = {};
};

/// Returns one self-contained HTML page. Its size has a bound, whatever the number of steps and of
/// judged utterances. Texts of runs are texts in the page, never elements.
[[nodiscard]] std::string training_report(const ReportedRuns& reported);

}  // namespace penstock::tools
