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
  std::ostringstream out;
  print_plan(view, out);
  const std::string text = out.str();
  for (const char* said : {"two stages\n", "device:1", "6.000 ms", "33.3 %", "1.50", "2.50",
                           "no limit", "0.50", "rank 0 |F0", "rank 1 |", "≥ 2.000 s", "the plan",
                           "and 5 more, none better", "margin                none"})
    EXPECT_NE(text.find(said), std::string::npos) << said << " is not in\n" << text;
}

}  // namespace
}  // namespace penstock::tools
