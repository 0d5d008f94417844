#include "tools/reports/training/run_charts.h"

#include <gtest/gtest.h>

namespace penstock::tools {
namespace {

/// A run of 10 steps, with a validation at every fifth.
ReportedRun course_run(const std::string& name) {
  ReportedRun run{.name = name};
  for (std::int64_t step = 1; step <= 10; ++step) {
    run.history.steps.push_back({.step = step,
                                 .loss = 20.0 - static_cast<double>(step),
                                 .learning_rate = 1e-3,
                                 .gradient_norm = 3,
                                 .audio_seconds = 12,
                                 .step_seconds = 4});
    if (step % 5 == 0)
      run.history.validations.push_back({.step = step, .loss = 9, .wer = 0.5, .cer = 0.25});
  }
  return run;
}

std::vector<std::string> ids(const std::vector<LineChart>& charts) {
  std::vector<std::string> names;
  for (const LineChart& chart : charts) names.push_back(chart.id);
  return names;
}

TEST(RunCharts, OneRunHasTrainingAndValidationTogether) {
  const std::vector<ReportedRun> runs = {course_run("a")};
  const auto charts = run_charts(runs);
  EXPECT_EQ(ids(charts), (std::vector<std::string>{"loss", "wer", "learning-rate", "speed",
                                                   "gradient-norm", "step-seconds"}));
  ASSERT_EQ(charts[0].lines.size(), 2u);
  EXPECT_EQ(charts[0].lines[0].name, "training");
  EXPECT_EQ(charts[0].lines[0].columns.size(), 10u);
  EXPECT_EQ(charts[0].lines[0].columns[9].mean, 10);
  EXPECT_EQ(charts[0].lines[1].columns.size(), 2u);
  EXPECT_EQ(charts[1].lines[0].columns[0].mean, 50);
  EXPECT_EQ(charts[1].lines[1].columns[0].mean, 25);
  EXPECT_EQ(charts[3].lines[0].columns[0].mean, 3);
  for (const LineChart& chart : charts) EXPECT_EQ(chart.last, 10) << chart.id;
}

TEST(RunCharts, SeveralRunsHaveALineEach) {
  std::vector<ReportedRun> runs = {course_run("a"), course_run("b")};
  runs[1].history.steps.pop_back();
  runs[1].history.validations.clear();
  const auto charts = run_charts(runs);
  EXPECT_EQ(ids(charts),
            (std::vector<std::string>{"loss", "validation-loss", "wer", "cer", "learning-rate",
                                      "speed", "gradient-norm", "step-seconds"}));
  for (const LineChart& chart : charts) {
    ASSERT_EQ(chart.lines.size(), 2u) << chart.id;
    EXPECT_EQ(chart.lines[0].name, "a");
    EXPECT_EQ(chart.lines[1].name, "b");
    EXPECT_EQ(chart.last, 10);
  }
  EXPECT_EQ(charts[0].lines[1].columns.size(), 9u);
  EXPECT_TRUE(charts[1].lines[1].columns.empty());
}

TEST(RunCharts, ARunWithoutStepsHasNone) {
  EXPECT_TRUE(run_charts(std::vector<ReportedRun>{{.name = "a"}}).empty());
}

}  // namespace
}  // namespace penstock::tools
