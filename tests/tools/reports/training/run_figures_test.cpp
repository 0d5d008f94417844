#include "tools/reports/training/run_figures.h"

#include <gtest/gtest.h>

#include <limits>

namespace penstock::tools {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

ReportedRun measured_run() {
  ReportedRun run{.name = "outputs/a"};
  run.history.steps = {{.step = 1, .loss = 4, .audio_seconds = 30, .step_seconds = 2},
                       {.step = 2, .epoch = 1, .loss = 2, .audio_seconds = 30, .step_seconds = 4}};
  run.history.validations = {{.step = 1, .loss = 7, .wer = 0.5, .cer = 0.25},
                             {.step = 2, .loss = kNoNumber, .wer = 0.75, .cer = 0.125}};
  run.state = runtime::TrainingState{};
  run.state->config = {{"trainer.steps", "12000"},      {"pipeline.stages", "2"},
                       {"pipeline.replicas", "1"},      {"pipeline.schedule", "1f1b"},
                       {"trainer.output", "outputs/a"}, {"optimizer.learning_rate", "0.5"}};
  return run;
}

std::string value(const std::vector<RunRow>& rows, const std::string& name, std::size_t run = 0) {
  for (const RunRow& row : rows)
    if (row.name == name) return row.values.at(run);
  return "no row";
}

TEST(RunFigures, AreThoseOfTheMetrics) {
  const std::vector<ReportedRun> runs = {measured_run()};
  const auto rows = run_figures(runs);
  EXPECT_EQ(value(rows, "steps"), "2 of 12,000");
  EXPECT_EQ(value(rows, "epochs begun"), "2");
  EXPECT_EQ(value(rows, "training loss at the end"), "3, mean of 2 steps");
  EXPECT_EQ(value(rows, "lowest validation loss"), "7, step 1");
  EXPECT_EQ(value(rows, "lowest WER"), "50.00 %, step 1");
  EXPECT_EQ(value(rows, "lowest CER"), "12.50 %, step 2");
  EXPECT_EQ(value(rows, "last validation"), "loss not finite, WER 75.00 %, CER 12.50 %");
  EXPECT_EQ(value(rows, "throughput"), "10 s of audio a second");
  EXPECT_EQ(value(rows, "audio trained"), "60 s");
  EXPECT_EQ(value(rows, "time in steps"), "6 s");
  EXPECT_EQ(value(rows, "layout"), "2 stages × 1 replica, 1f1b");
  EXPECT_EQ(value(rows, "skipped steps"), "no row");
  EXPECT_EQ(run_headline(runs[0]),
            "2 of 12,000 steps; lowest WER 50.00 % at step 1; 10 s of audio a second.");
}

/// A skipped step among the last hundred has no loss, which leaves the mean of the others.
TEST(RunFigures, MeanLossLeavesOutSkippedSteps) {
  ReportedRun run{.name = "a"};
  for (std::int64_t step = 1; step <= 150; ++step)
    run.history.steps.push_back({.step = step, .loss = step <= 50 ? 1e9 : 2.5});
  run.history.steps[120].loss = kNoNumber;
  EXPECT_EQ(value(run_figures(std::vector{run}), "training loss at the end"),
            "2.5, mean of 99 steps");
  run.history.steps = {{.step = 1, .loss = 4}, {.step = 2, .loss = kNoNumber}};
  EXPECT_EQ(value(run_figures(std::vector{run}), "training loss at the end"), "4, of one step");
  run.history.steps[0].loss = kNoNumber;
  EXPECT_EQ(value(run_figures(std::vector{run}), "training loss at the end"), "not finite");
}

TEST(RunFigures, AreUnknownWhereNothingIsRecorded) {
  ReportedRun run{.name = "a"};
  run.history.steps = {{.step = 1, .loss = 4}};
  run.history.validations = {{.step = 1, .loss = 7}};
  const auto rows = run_figures(std::vector{run});
  EXPECT_EQ(value(rows, "last validation"), "loss 7, WER unknown, CER unknown");
  EXPECT_EQ(value(rows, "lowest WER"), "no row");
  EXPECT_EQ(value(rows, "throughput"), "no row");
  EXPECT_EQ(run_headline(run), "1 step.");
}

TEST(RunFigures, CountWhatWentWrong) {
  ReportedRun run = measured_run();
  run.history.steps[1].skipped = true;
  run.history.failed_utterances = 3;
  run.history.early_end = "no progress";
  const auto rows = run_figures(std::vector{run});
  EXPECT_EQ(value(rows, "skipped steps"), "1");
  EXPECT_EQ(value(rows, "failed utterances"), "3");
  EXPECT_EQ(value(rows, "ended early"), "no progress");
}

TEST(RunFigures, StandBesideEachOther) {
  const std::vector<ReportedRun> runs = {measured_run(), {.name = "empty"}};
  const auto rows = run_figures(runs);
  EXPECT_EQ(value(rows, "steps", 1), "0");
  EXPECT_EQ(value(rows, "lowest WER", 1), "");
  EXPECT_EQ(run_headline(runs[1]), "0 steps.");
}

TEST(RunFigures, SettingsThatDifferAreListed) {
  std::vector<ReportedRun> runs = {measured_run(), measured_run(), {.name = "without checkpoint"}};
  runs[1].state->config["optimizer.learning_rate"] = "0.25";
  runs[1].state->config["model.width"] = "3";
  runs[1].state->config["trainer.output"] = "outputs/b";
  EXPECT_EQ(run_settings(runs),
            (std::vector<RunRow>{{"model.width", {"", "3", ""}},
                                 {"optimizer.learning_rate", {"0.5", "0.25", ""}}}));
}

TEST(RunFigures, SettingsOfOneRunDifferFromDefaults) {
  const auto rows = run_settings(std::vector{measured_run()});
  EXPECT_EQ(value(rows, "trainer.steps"), "12000");
  EXPECT_EQ(value(rows, "optimizer.learning_rate"), "0.5");
  EXPECT_EQ(value(rows, "trainer.output"), "no row");
  EXPECT_EQ(value(rows, "pipeline.schedule"), "no row");
}

}  // namespace
}  // namespace penstock::tools
