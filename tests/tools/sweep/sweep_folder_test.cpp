#include "tools/sweep/sweep_folder.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file_handle.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

SweepPlan plan_of(std::vector<SweepPoint> points) {
  SweepPlan plan{.random = true};
  plan.axes = {*parse_axis("optimizer.learning_rate=1e-4..1e-2@log")};
  plan.points = std::move(points);
  plan.configurations.assign(plan.points.size(), "c");
  return plan;
}

class SweepFolderTest : public testing::Test {
 protected:
  /// Writes the metrics of run 1: validations with these error rates, a step each.
  void write_metrics(const std::vector<std::string>& rates) const {
    std::string text;
    for (std::size_t i = 0; i < rates.size(); ++i)
      text += "{\"step\":" + std::to_string(i + 1) +
              ",\"epoch\":0,\"loss\":2.5}\n{\"step\":" + std::to_string(i + 1) +
              ",\"validation_loss\":" + std::to_string(9 - static_cast<int>(i)) +
              ",\"validation_wer\":" + rates[i] + ",\"validation_cer\":0.5}\n";
    std::filesystem::create_directories(folder_.output(1));
    test::write_file(folder_.output(1) / "metrics.jsonl", text);
  }
  std::filesystem::path sweep_file() const { return folder_.path() / "sweep.json"; }

  test::TemporaryFolder temporary_;
  SweepFolder folder_{temporary_.path() / "sweep"};
};

TEST_F(SweepFolderTest, GrowsOnceItIsOpened) {
  EXPECT_FALSE(folder_.saved());
  folder_.open(plan_of({{"1e-3"}}));
  const SweepPlan grown = plan_of({{"1e-3"}, {"2e-3"}});
  EXPECT_FALSE(folder_.holds(grown));
  EXPECT_EQ(folder_.saved()->points.size(), 1u);
  folder_.open(grown);
  EXPECT_TRUE(folder_.holds(grown));
  EXPECT_EQ(folder_.saved()->points, grown.points);
}

// A stranger's sweep.json may hold any points.
TEST_F(SweepFolderTest, OtherPointsAreRefused) {
  folder_.open(plan_of({{"1e-3"}, {"2e-3"}}));
  EXPECT_THROW(folder_.open(plan_of({{"1e-3"}})), ConfigError) << "one point too many";
  EXPECT_THROW(folder_.open(plan_of({{"1e-3"}, {"3e-3"}})), ConfigError) << "another value";
  SweepPlan grid = plan_of({{"1"}, {"2"}});
  grid.random = false;
  grid.axes = {*parse_axis("trainer.seed=1,2")};
  const auto fault_of = [&](const std::vector<SweepPoint>& points) {
    SweepPlan stored = grid;
    stored.points = points;
    stored.configurations.assign(points.size(), "c");
    test::write_file(sweep_file(), sweep_json(stored));
    return test::message_of<ConfigError>([&] { folder_.open(grid); });
  };
  EXPECT_NE(fault_of({{"1"}, {"2"}, {"3"}}).find("the number of runs: 3, and now 2"),
            std::string::npos);
  EXPECT_NE(fault_of({{"1"}, {"7"}}).find("the values of run 2: 7, and now 2"), std::string::npos);
}

TEST_F(SweepFolderTest, BeginsAgainAfterAKill) {
  std::filesystem::create_directories(folder_.path());
  for (const char* name : {"sweep.json.partial", "sweep.json.77.partial", ".sweep"})
    test::write_file(folder_.path() / name, "{");
  const SweepPlan plan = plan_of({{"1e-3"}});
  folder_.open(plan);
  EXPECT_TRUE(folder_.holds(plan));
}

TEST_F(SweepFolderTest, AnUnwrittenEndIsAnError) {
  EXPECT_THROW(folder_.record(1, {0, 3, ""}), FileError) << "there is no folder";
}

// The rung before was reached, so it is never trained again.
TEST_F(SweepFolderTest, AFailureLeavesEarlierRungsDone) {
  folder_.open(plan_of({{"1e-3"}}));
  folder_.record(1, {0, 3, ""});
  for (int tries = 0; tries < 2; ++tries) folder_.record(1, {1, 5, "it broke"});
  EXPECT_EQ(folder_.result(1, "wer", 3).state, RunState::done);
  EXPECT_EQ(folder_.result(1, "wer", 5).state, RunState::failed);
  EXPECT_EQ(folder_.result(1, "wer", 9).state, RunState::failed);
  folder_.forget_failure(1);
  EXPECT_EQ(folder_.result(1, "wer", 3).state, RunState::done);
  EXPECT_EQ(folder_.result(1, "wer", 5).state, RunState::paused);
}

TEST_F(SweepFolderTest, OtherSweepsAreRefused) {
  SweepPlan plan = plan_of({{"1e-3"}}), other = plan;
  folder_.open(plan);
  const std::string before = test::read_file(sweep_file());
  other.seed = 2;
  const std::string fault = test::message_of<ConfigError>([&] { folder_.open(other); });
  EXPECT_NE(fault.find("holds another sweep"), std::string::npos) << fault;
  EXPECT_NE(fault.find("\n  --seed: 1, and now 2"), std::string::npos) << fault;
  EXPECT_EQ(test::read_file(sweep_file()), before);
}

TEST_F(SweepFolderTest, OtherFoldersAreRefused) {
  std::filesystem::create_directories(folder_.path());
  test::write_file(folder_.path() / "metrics.jsonl", "");
  SweepPlan plan = plan_of({{"1e-3"}});
  const std::string fault = test::message_of<ConfigError>([&] { folder_.open(plan); });
  EXPECT_NE(fault.find("it has no sweep.json"), std::string::npos) << fault;
}

TEST_F(SweepFolderTest, RunsAreDoneOnceTheyEnd) {
  SweepPlan plan = plan_of({{"1e-3"}});
  folder_.open(plan);
  EXPECT_EQ(folder_.result(1, "wer", 3).state, RunState::waiting);
  write_metrics({"1", "0.5", "0.75"});
  EXPECT_EQ(folder_.result(1, "wer", 3).state, RunState::begun);
  folder_.record(1, {0, 3, ""});
  EXPECT_EQ(folder_.result(1, "wer", 3).state, RunState::done);
  EXPECT_EQ(folder_.result(1, "wer", 9).state, RunState::paused) << "of a later rung";
  EXPECT_EQ(folder_.result(1, "wer", 9).step, 3);
}

TEST_F(SweepFolderTest, TheLowestFiniteMetricCounts) {
  SweepPlan plan = plan_of({{"1e-3"}});
  folder_.open(plan);
  write_metrics({"1", "null", "0.5", "0.75", "0.5", "0.25"});
  const RunResult five = folder_.result(1, "wer", 5);
  EXPECT_EQ(five.best, 0.5);
  EXPECT_EQ(five.best_step, 3) << "the first of equal ones";
  EXPECT_EQ(folder_.result(1, "wer", 6).best, 0.25) << "later validations count later";
  EXPECT_EQ(folder_.result(1, "cer", 6).best, 0.5);
  EXPECT_EQ(folder_.result(1, "loss", 6).best, 4);
  write_metrics({"null"});
  EXPECT_FALSE(folder_.result(1, "wer", 5).best);
}

TEST_F(SweepFolderTest, FailuresAreKeptUntilForgotten) {
  SweepPlan plan = plan_of({{"1e-3"}});
  folder_.open(plan);
  folder_.record(1, {1, 3, "it diverged\nat once"});
  EXPECT_EQ(folder_.result(1, "wer", 3).state, RunState::failed);
  EXPECT_EQ(folder_.result(1, "wer", 3).error, "it diverged\nat once");
  EXPECT_EQ(folder_.code(1), 1);
  folder_.forget_failure(1);
  EXPECT_EQ(folder_.result(1, "wer", 3).state, RunState::waiting);
  folder_.record(1, {0, 3, ""});
  folder_.forget_failure(1);
  EXPECT_EQ(folder_.code(1), 0) << "a run that is done stays";
}

TEST_F(SweepFolderTest, NamesSortByNumber) {
  EXPECT_EQ(SweepFolder::name(7), "run-007");
  EXPECT_EQ(SweepFolder::name(1234), "run-1234");
}

}  // namespace
}  // namespace penstock::tools
