#include "tools/sweep/sweep_plan.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

using Lines = std::vector<std::string>;

SweepPlan some_plan() {
  SweepPlan plan{.random = true, .seed = 7, .metric = "cer"};
  plan.axes = {*parse_axis("optimizer.learning_rate=1e-4..1e-2@log"),
               *parse_axis("data.speeds=[0.9, 1],[1]")};
  plan.shared = {{"trainer.steps", "30"}, {"text.alphabet", "ab\"ü"}};
  plan.points = {{"1e-3", "[1]"}, {"2e-3", "[0.9, 1]"}};
  plan.configurations = {"c1", "c2"};
  return plan;
}

TEST(SweepPlan, IsReadAsItWasWritten) {
  const SweepPlan read = parse_sweep(sweep_json(some_plan()), "sweep.json");
  EXPECT_EQ(sweep_json(read), sweep_json(some_plan()));
  EXPECT_EQ(read.points, some_plan().points);
  EXPECT_EQ(read.configurations, some_plan().configurations);
  EXPECT_TRUE(read.axes[0].logarithmic);
  EXPECT_TRUE(sweep_differences(read, some_plan()).empty());
}

TEST(SweepPlan, OtherFilesAreRefused) {
  const auto fault = [](const std::string& text) {
    return test::message_of<ConfigError>([&] { (void)parse_sweep(text, "sweep.json"); });
  };
  for (const std::string text : {"", "{}", "[1]", "{\"sweep\": 2}"})
    EXPECT_EQ(fault(text).substr(0, 24), "sweep.json is no sweep: ") << text;
  EXPECT_NE(fault(std::string(100000, '[')).find("nests too deeply"), std::string::npos);
  SweepPlan plan = some_plan();
  plan.points[0].pop_back();
  EXPECT_NE(fault(sweep_json(plan)).find("another number of values"), std::string::npos);
  plan = some_plan();
  plan.configurations.pop_back();
  EXPECT_NE(fault(sweep_json(plan)).find("not one configuration for each"), std::string::npos);
}

TEST(SweepDifferences, NameEachSetting) {
  SweepPlan now = some_plan();
  now.seed = 8;
  now.metric = "wer";
  now.shared["trainer.steps"] = "40";
  now.axes[1] = *parse_axis("data.speeds=[1],[1.1]");
  EXPECT_EQ(sweep_differences(some_plan(), now),
            (Lines{"data.speeds: [0.9, 1],[1], and now [1],[1.1]", "--seed: 7, and now 8",
                   "--metric: cer, and now wer", "trainer.steps: 30, and now 40"}));
}

TEST(SweepDifferences, KeysMayComeAndGo) {
  SweepPlan now = some_plan();
  now.axes.erase(now.axes.begin());
  now.shared["optimizer.learning_rate"] = "0.1";
  EXPECT_EQ(sweep_differences(some_plan(), now),
            Lines{"optimizer.learning_rate: 1e-4..1e-2@log, and now nothing"});
  now = some_plan();
  std::swap(now.axes[0], now.axes[1]);
  EXPECT_EQ(sweep_differences(some_plan(), now), Lines{"the order of the keys"});
}

TEST(SweepDifferences, RandomSearchesMayGrow) {
  SweepPlan more = some_plan();
  more.points.push_back({"3e-3", "[1]"});
  more.configurations.emplace_back("c3");
  EXPECT_TRUE(sweep_differences(some_plan(), more).empty());
  EXPECT_EQ(sweep_differences(more, some_plan()),
            Lines{"--runs, which can only grow: 3, and now 2"});
  SweepPlan halved = some_plan(), more_halved = more;
  halved.halving.factor = more_halved.halving.factor = 2;
  EXPECT_EQ(sweep_differences(halved, more_halved),
            Lines{"--runs, which is fixed with --halving: 2, and now 3"});
  SweepPlan grid = some_plan();
  grid.random = false;
  EXPECT_EQ(sweep_differences(some_plan(), grid),
            Lines{"the search: random points, and now a grid"});
}

TEST(SweepDifferences, RunsHaveTheirValues) {
  SweepPlan saved = some_plan();
  saved.points[1][0] = "3e-3";
  saved.configurations[0] = "c9";
  EXPECT_EQ(sweep_differences(saved, some_plan()),
            (Lines{"the hash of run 1's configuration, which follows from its values: c9, and now "
                   "c1",
                   "the values of run 2: 3e-3 [0.9, 1], and now 2e-3 [0.9, 1]"}));
}

TEST(SweepDifferences, AGridHasAllItsRuns) {
  SweepPlan grid = some_plan();
  grid.random = false;
  SweepPlan more = grid, fewer = grid;
  more.points.push_back({"3e-3", "[1]"});
  more.configurations.emplace_back("c3");
  fewer.points.pop_back();
  fewer.configurations.pop_back();
  EXPECT_EQ(sweep_differences(more, grid), Lines{"the number of runs: 3, and now 2"});
  EXPECT_EQ(sweep_differences(fewer, grid), Lines{"the number of runs: 1, and now 2"});
}

TEST(KeepPoints, ASearchThatGrowsKeepsItsPoints) {
  SweepPlan more = some_plan();
  more.points = {{"0.001", "[1]"}, {"0.002", "[0.9, 1]"}, {"0.003", "[1]"}};
  keep_points(some_plan(), more);
  EXPECT_EQ(more.points,
            (std::vector<SweepPoint>{{"1e-3", "[1]"}, {"2e-3", "[0.9, 1]"}, {"0.003", "[1]"}}));
}

TEST(KeepPoints, OtherSearchesDoNot) {
  SweepPlan asked = some_plan();
  asked.points.pop_back();
  asked.points[0][0] = "5e-3";
  const auto before = asked.points;
  keep_points(some_plan(), asked);
  EXPECT_EQ(asked.points, before) << "one point too many is stored";
  SweepPlan saved = asked, grid = asked;
  saved.points[0][0] = "6e-3";
  saved.seed = 8;
  keep_points(saved, asked);
  EXPECT_EQ(asked.points, before) << "another seed";
  saved.seed = asked.seed;
  grid.random = false;
  keep_points(saved, grid);
  EXPECT_EQ(grid.points, before) << "a grid";
}

}  // namespace
}  // namespace penstock::tools
