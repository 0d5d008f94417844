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
  return plan;
}

TEST(SweepPlan, IsReadAsItWasWritten) {
  const SweepPlan read = parse_sweep(sweep_json(some_plan()), "sweep.json");
  EXPECT_EQ(sweep_json(read), sweep_json(some_plan()));
  EXPECT_EQ(read.points, some_plan().points);
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

}  // namespace
}  // namespace penstock::tools
