#include "tools/plan_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "partition/schedule/make_schedule.h"

namespace penstock::tools {
namespace {

TEST(PlanText, ShowsStagesMemoryPipelineAndAlternatives) {
  partition::PlanView view;
  view.title = "two stages";
  view.cluster = partition::equal_devices(2);
  view.schedule = partition::make_schedule("1f1b", 2, 2);
  view.replicas.push_back(
      {partition::simulate(view.schedule, partition::equal_micro_batches({{1, 1, 1}, {1, 1, 1}})),
       {}});
  view.step_seconds = 9;
  view.stages = {{.layers = {"a"},
                  .first = {0},
                  .last = {0},
                  .devices = {1},
                  .memory = {{"weights", 1.5 * (1 << 30)}, {"saved", 1 << 30}},
                  .limit = std::numeric_limits<double>::infinity(),
                  .seconds = 0.006,
                  .idle = 1.0 / 3},
                 {.layers = {"b to c (2)"},
                  .first = {1},
                  .last = {2},
                  .devices = {0},
                  .memory = {{"weights", 0}, {"saved", 1 << 29}},
                  .limit = 1 << 30}};
  for (int i = 0; i < 14; ++i)
    view.alternatives.push_back({.what = "other", .step_seconds = 2, .about = i == 1 ? "≥ " : ""});
  view.left_out = 3;
  view.facts = {{"margin", "none"}};
  view.steps = 3;
  view.advice = {"With links twice as fast: no faster."};
  std::ostringstream out;
  print_plan(view, out);
  const std::string text = out.str();
  for (const char* said :
       {"two stages\n", "device:1", "6.000 ms", "33.3 %", "1.50", "2.50", "no limit", "0.50",
        "rank 0 |F0", "rank 1 |", "≥ 2.000 s", "the plan", "and 5 more, none better",
        "margin                none", "A step takes 9 s", "in the first of 3 sampled steps",
        "0 s   ", "\n\nWith links twice as fast: no faster.\n"})
    EXPECT_NE(text.find(said), std::string::npos) << said << " is not in\n" << text;
}

TEST(PlanText, CountsSmallMemoryInMiB) {
  partition::PlanView view;
  view.cluster = partition::equal_devices(1);
  view.schedule = partition::make_schedule("1f1b", 1, 1);
  view.replicas.push_back(
      {partition::simulate(view.schedule, partition::equal_micro_batches({{1, 1, 1}})), {}});
  view.stages = {{.layers = {"a"},
                  .first = {0},
                  .last = {0},
                  .devices = {0},
                  .memory = {{"weights", 3 << 19}, {"saved", 700 << 20}},
                  .limit = double{1 << 30} * 16}};
  const auto printed = [&](bool colour) {
    std::ostringstream out;
    print_plan(view, out, colour);
    return out.str();
  };
  EXPECT_NE(printed(false).find("MiB  weights   saved   total        of\n"
                                "  0     1.50  700.00  701.50  16384.00\n"),
            std::string::npos)
      << printed(false);
  EXPECT_EQ(printed(false).find('\x1b'), std::string::npos);
  EXPECT_NE(printed(true).find("\x1b[34mF0"), std::string::npos);
  view.stages.front().memory.back().second = 1023 << 20;
  EXPECT_NE(printed(false).find("GiB  weights  saved  total     of"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
