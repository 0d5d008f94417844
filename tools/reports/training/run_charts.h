#pragma once

#include <span>
#include <vector>

#include "tools/reports/training/line_chart.h"
#include "tools/reports/training/reported_run.h"

namespace penstock::tools {

/// Returns the charts of one or several runs over their steps: losses, error rates, learning rate,
/// speed, gradient norm. The chart of one run's losses has lines for training and validation;
/// several runs have a line each, in charts of their own. Charts without points are left out.
[[nodiscard]] std::vector<LineChart> run_charts(std::span<const ReportedRun> runs);

}  // namespace penstock::tools
