#pragma once

#include <span>
#include <vector>

#include "tools/reports/training/line_chart.h"
#include "tools/reports/training/reported_run.h"

namespace penstock::tools {

/// Returns the charts of one or several runs over their steps: losses, error rates, learning rate,
/// throughput, gradient norm, time of a step. A single run has training and validation loss in one
/// chart, WER and CER in another, and the WER of each manifest of its validations in a third, with
/// at most kLineStyles lines. Several runs have a chart for each value, with a line for each run.
/// Charts without points are left out.
[[nodiscard]] std::vector<LineChart> run_charts(std::span<const ReportedRun> runs);

}  // namespace penstock::tools
