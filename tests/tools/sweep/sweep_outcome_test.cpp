#include "tools/sweep/sweep_outcome.h"

#include <gtest/gtest.h>

namespace penstock::tools {
namespace {

SweepOutcome some_outcome() {
  SweepOutcome outcome{.folder = "outputs/sweep"};
  outcome.plan.axes = {*parse_axis("optimizer.learning_rate=1e-3,2e-3,3e-3,4e-3"),
                       *parse_axis("data.speeds=[1],[0.9, 1]")};
  outcome.plan.points = {{"1e-3", "[1]"}, {"2e-3", "[1]"}, {"3e-3", "[0.9, 1]"}, {"4e-3", "[1]"}};
  outcome.runs = {
      {1, "outputs/sweep/run-001", {RunState::failed, 3, 0.1, 2, "it \"broke\",\nat once"}},
      {2, "outputs/sweep/run-002", {RunState::done, 9, 0.5, 9}},
      {3, "outputs/sweep/run-003", {RunState::paused, 3, 0.25, 3}},
      {4, "outputs/sweep/run-004", {RunState::waiting}}};
  return outcome;
}

TEST(RankedRuns, FailedOnesAreLast) {
  EXPECT_EQ(ranked_runs(some_outcome()), (std::vector<std::size_t>{2, 1, 3, 0}));
}

TEST(ShortKeys, KeepTheSectionWhereLeavesAreEqual) {
  SweepPlan plan;
  for (const char* word : {"optimizer.kind=a,b", "model.kind=a,b", "trainer.seed=1,2"})
    plan.axes.push_back(*parse_axis(word));
  EXPECT_EQ(short_keys(plan), (std::vector<std::string>{"optimizer.kind", "model.kind", "seed"}));
}

TEST(SweepTable, RanksRunsAndNamesTheBest) {
  EXPECT_EQ(sweep_table(some_outcome(), 80),
            "run  learning_rate  speeds        WER  at step  state\n"
            "  3  3e-3           [0.9, 1]  25.00 %        3  left at step 3\n"
            "  2  2e-3           [1]       50.00 %        9  done\n"
            "  4  4e-3           [1]             –        –  waiting\n"
            "  1  1e-3           [1]       10.00 %        2  failed\n"
            "run 1 failed: it \"broke\",\nat once\n"
            "best: outputs/sweep/run-003/BEST\n");
}

TEST(SweepTable, FitsTheWidth) {
  const std::string text = sweep_table(some_outcome(), 40);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    if (text.compare(begin, 5, "best:") != 0) {
      EXPECT_LE(end - begin, 46u) << text;  // bytes of up to 40 characters
    }
    begin = end + 1;
  }
}

TEST(SweepCsv, QuotesWhatNeedsIt) {
  EXPECT_EQ(sweep_csv(some_outcome()),
            "run,optimizer.learning_rate,data.speeds,wer,at_step,last_step,state,output,error\r\n"
            "3,3e-3,\"[0.9, 1]\",0.25,3,3,left at step 3,outputs/sweep/run-003,\r\n"
            "2,2e-3,[1],0.5,9,9,done,outputs/sweep/run-002,\r\n"
            "4,4e-3,[1],,,0,waiting,outputs/sweep/run-004,\r\n"
            "1,1e-3,[1],0.1,2,3,failed,outputs/sweep/run-001,\"it \"\"broke\"\",\nat once\"\r\n");
}

TEST(MetricText, LossesAreNoShares) {
  EXPECT_EQ(metric_text("wer", 0.2345), "23.45 %");
  EXPECT_EQ(metric_text("loss", 35.8638), "35.86");
  EXPECT_EQ(result_text({.metric = "cer"}, {.best = 0.5, .best_step = 7}), "CER 50.00 % at step 7");
  EXPECT_EQ(result_text({.metric = "loss"}, {}), "no finite loss");
}

TEST(BestRun, IsNoFailedOne) {
  SweepOutcome outcome = some_outcome();
  EXPECT_EQ(best_run(outcome), 2u);
  for (SweptRun& run : outcome.runs) run.result.state = RunState::failed;
  EXPECT_FALSE(best_run(outcome));
  EXPECT_EQ(sweep_table(outcome, 80).find("best: "), std::string::npos);
  outcome.runs = {{1, "run-001", {RunState::done}}};
  EXPECT_FALSE(best_run(outcome)) << "without a metric";
}

}  // namespace
}  // namespace penstock::tools
