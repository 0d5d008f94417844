#include "tools/reports/training/run_charts.h"

#include <gtest/gtest.h>

namespace penstock::tools {
namespace {

/// A run of 10 steps, with a validation at every fifth.
ReportedRun measured_curves(const std::string& name) {
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
  const std::vector<ReportedRun> runs = {measured_curves("a")};
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
  std::vector<ReportedRun> runs = {measured_curves("a"), measured_curves("b")};
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

TEST(RunCharts, OneRunHasALineForEachManifest) {
  ReportedRun run = measured_curves("a");
  run.history.validations[0].manifests = {{"clean.jsonl", 0.125}, {"noisy.jsonl", {}}};
  run.history.validations[1].manifests = {{"noisy.jsonl", 0.5}, {"clean.jsonl", 0.25}};
  const auto charts = run_charts(std::vector{run});
  ASSERT_EQ(charts[2].id, "manifest-wer");
  EXPECT_EQ(charts[2].note, "of validations");
  ASSERT_EQ(charts[2].lines.size(), 2u);
  EXPECT_EQ(charts[2].lines[0].name, "clean.jsonl");
  ASSERT_EQ(charts[2].lines[0].columns.size(), 2u);
  EXPECT_EQ(charts[2].lines[0].columns[0].mean, 12.5);
  EXPECT_EQ(charts[2].lines[0].columns[1].mean, 25);
  ASSERT_EQ(charts[2].lines[1].columns.size(), 1u);
  EXPECT_EQ(charts[2].lines[1].columns[0].first, 10);
  EXPECT_EQ(charts[2].lines[1].columns[0].mean, 50);
  for (const LineChart& chart : run_charts(std::vector{run, run}))
    EXPECT_NE(chart.id, "manifest-wer");
}

TEST(RunCharts, ManyManifestsAreLeftOut) {
  ReportedRun run = measured_curves("a");
  for (int i = 0; i < 11; ++i)
    run.history.validations[0].manifests.push_back({std::to_string(i) + ".jsonl", 0.5});
  const auto charts = run_charts(std::vector{run});
  EXPECT_EQ(charts[2].lines.size(), kLineStyles);
  EXPECT_EQ(charts[2].note, "of validations, 3 manifests left out");
}

/// A number that no line records has no point, and no mark of a number that is not finite.
TEST(RunCharts, MissingNumbersAreNoPoints) {
  ReportedRun run = measured_curves("a");
  for (StepRecord& step : run.history.steps) step.learning_rate.reset();
  run.history.steps[3].gradient_norm.reset();
  const auto charts = run_charts(std::vector{run});
  EXPECT_EQ(ids(charts),
            (std::vector<std::string>{"loss", "wer", "speed", "gradient-norm", "step-seconds"}));
  EXPECT_EQ(charts[3].lines[0].columns.size(), 9u);
}

TEST(RunCharts, LateRunsBeginAtTheirFirstStep) {
  ReportedRun late = measured_curves("late");
  for (StepRecord& step : late.history.steps) step.step += 5000;
  for (ValidationRecord& each : late.history.validations) each.step += 5000;
  const auto alone = run_charts(std::vector{late});
  EXPECT_EQ(alone[0].first, 5001);
  EXPECT_EQ(alone[0].last, 5010);
  EXPECT_EQ(alone[0].lines[0].columns.size(), 10u);
  EXPECT_EQ(run_charts(std::vector{late, measured_curves("a")})[0].first, 0);
}

TEST(RunCharts, ARunWithoutStepsHasNone) {
  EXPECT_TRUE(run_charts(std::vector<ReportedRun>{{.name = "a"}}).empty());
}

}  // namespace
}  // namespace penstock::tools
