#include "tools/reports/plan_text.h"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "base/wrap.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::tools {
namespace {

TEST(PlanText, ShowsStagesMemoryPipelineAndCandidates) {
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
    view.candidates.push_back({.what = "other", .step_seconds = 2, .about = i == 1 ? "≥ " : ""});
  view.left_out = 3;
  view.facts = {{"margin", "none"}};
  view.steps = 3;
  view.advice = {"With links twice as fast: no faster."};
  std::ostringstream out;
  print_plan(view, out);
  const std::string text = out.str();
  for (const char* said :
       {"two stages\n", "    0  device:1      6 ms  33 %  0       a\n",
        "    1  device:0       0 s   0 %  1–2     b to c\n", "weights       1.50  0.00\n",
        "total         2.50  0.50\n", "limit            –  1.00\n", "rank 0 |F0", "rank 1 |",
        "≥ 2 s", "stages × replicas  ", "the plan", "and 5 more, none better",
        "margin                none", "A step takes 9 s", "in the first of 3 sampled steps;\n",
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
    print_plan(view, out, {.colour = colour});
    return out.str();
  };
  EXPECT_NE(printed(false).find("MiB of stage        0\n"
                                "weights           1.5\n"
                                "saved           700.0\n"
                                "total           701.5\n"
                                "limit         16384.0\n"),
            std::string::npos)
      << printed(false);
  EXPECT_EQ(printed(false).find('\x1b'), std::string::npos);
  EXPECT_NE(printed(true).find("\x1b[34mF0"), std::string::npos);
  view.stages.front().memory.back().second = 1023 << 20;
  EXPECT_NE(printed(false).find("GiB of stage      0\n"), std::string::npos) << printed(false);
}

TEST(PlanText, FitsTheTerminalButForTheCommand) {
  partition::PlanView view;
  view.title = "many stages";
  view.cluster = partition::equal_devices(40);
  view.schedule = partition::make_schedule("1f1b", 20, 9);
  view.replicas.push_back(
      {partition::simulate(view.schedule, partition::equal_micro_batches(
                                              std::vector<partition::ChunkTimes>(20, {1, 1, 1}))),
       {}});
  for (int k = 0; k < 20; ++k)
    view.stages.push_back({.layers = {"block2.feed_forward2 to block3.attention (3)"},
                           .first = {3 * k},
                           .last = {3 * k + 2},
                           .devices = {2 * k, 39 - 2 * k},
                           .memory = {{"weights", 4e9}, {"activations", 3e10}},
                           .limit = 8e10,
                           .seconds = 0.123});
  view.binds = "the computation of stage 13, which is busy 42 % of a step, as a long sentence says";
  view.candidates = {{.what = "20 stages × 2 replicas, interleaved-4, optimizer sharded over "
                              "replicas, 16 × 21.33 s, cut at layer 17, not 16",
                      .step_seconds = 3,
                      .why = "12.5 % slower: stages idle 44 % of a step, and links are slow"}};
  view.facts = {{"costs", std::string(30, 'c') + " and " + std::string(30, 'd') + " and so on"}};
  view.advice = {std::string(50, 'a') + " " + std::string(50, 'b')};
  view.command = "mpirun -np 40 penstock train " + std::string(90, 'r') + ".toml";
  for (const std::size_t columns : {60, 80, 97}) {
    std::ostringstream out;
    print_plan(view, out, {.columns = columns});
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);)
      if (line.find("mpirun") == std::string::npos) {
        EXPECT_LE(text_width(line), columns) << line;
      }
    EXPECT_NE(out.str().find("\n  " + view.command + "\n"), std::string::npos);
    EXPECT_NE(out.str().find("20 × 2, interleaved-4"), std::string::npos) << out.str();
  }
}

}  // namespace
}  // namespace penstock::tools
