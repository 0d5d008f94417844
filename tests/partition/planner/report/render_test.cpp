#include "partition/planner/report/render.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

std::string sampled(const char* name, int width) {
  const Schedule schedule = make_schedule(name, 2, 2);
  const std::vector<ChunkTimes> times(schedule.chunks(), {1, 1, 1});
  return render(schedule, simulate(schedule, equal_micro_batches(times)), {.width = width});
}

/// Two ranks that begin and end together: 3 s of forward and 1 s of weight gradient, 4 times.
Simulation two_ranks() {
  Simulation step{.makespan = 18, .ranks = {{}, {}}};
  for (int m = 0; m < 4; ++m) {
    step.ranks[0].push_back({{ActionKind::forward, 0, m}, 4.0 * m, 4.0 * m + 3});
    step.ranks[0].push_back({{ActionKind::backward_weight, 0, m}, 4.0 * m + 3, 4.0 * m + 4});
  }
  step.ranks[1] = {{{ActionKind::forward, 1, 0}, 0, 1},
                   {{ActionKind::backward_input, 1, 0}, 1, 2},
                   {{ActionKind::backward_input, 1, 1}, 6, 9},
                   {{ActionKind::backward, 1, 2}, 9, 9.9}};
  return step;
}

TEST(Render, BarsAreAsLongAsTheirActions) {
  EXPECT_EQ(sampled("zb-h1", 21),
            "rank 0 |F0-F1-   B0=W0~B1=W1~|\n"
            "rank 1 |   F0-B0=F1-B1=W0~W1~|\n");
  EXPECT_EQ(sampled("1f1b", 27),
            "rank 0 |F0-F1-      G0====   G1====|\n"
            "rank 1 |   F0-G0====F1-G1====      |\n");
}

TEST(Render, KeepsLettersWhereItIsTight) {
  EXPECT_EQ(sampled("zb-h1", 7),
            "rank 0 |FF BWBW|\n"
            "rank 1 | FBFBWW|\n");
}

TEST(Render, SumsUpWhereActionsAreNarrowerThanColumns) {
  const Schedule schedule{.name = "any", .micro_batches = 4, .chunk_rank = {0, 1}};
  // Columns of 4.5 s: the third of rank 0 and its neighbours have 8.5 s of F and 3 of W.
  EXPECT_FALSE(is_summary(two_ranks(), 18));
  EXPECT_TRUE(is_summary(two_ranks(), 17));
  EXPECT_EQ(render(schedule, two_ranks(), {.width = 4}),
            "rank 0 |FF##|\n"
            "rank 1 |... |\n");
  // Columns of 2 s: the third of rank 0 and its neighbours have 4 s of F and 2 of W.
  EXPECT_EQ(render(schedule, two_ranks(), {.width = 9}),
            "rank 0 |FF#F#F#..|\n"
            "rank 1 |......   |\n");
}

TEST(Render, LeavesOutRanksOfTallPictures) {
  const Schedule schedule = make_schedule("gpipe", 40, 2);
  const std::vector<ChunkTimes> times(40, {1, 1, 1});
  const std::string text = render(schedule, simulate(schedule, equal_micro_batches(times)),
                                  {.width = 400, .max_ranks = 3});
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  for (const char* row : {"rank  0 |", "rank 19 |", "rank 39 |"})
    EXPECT_NE(text.find(row), std::string::npos) << row;
}

TEST(Render, DrawsATimeAxis) {
  const Schedule schedule = make_schedule("1f1b", 2, 2);
  const std::string text =
      render(schedule, simulate(schedule, equal_micro_batches({{1, 1, 1}, {1, 1, 1}})),
             {.width = 27, .time = [](double time) { return std::to_string(std::lround(time)); }});
  EXPECT_NE(text.find("|\n"
                      "        ^              ^\n"
                      "        0              5\n"),
            std::string::npos)
      << text;
}

TEST(Render, ColoursWholeBars) {
  const Schedule schedule = make_schedule("gpipe", 1, 1);
  EXPECT_EQ(render(schedule, simulate(schedule, equal_micro_batches({{1, 1, 1}})),
                   {.width = 9, .colour = true}),
            "rank 0 |\x1b[34mF0-\x1b[0m\x1b[35mG0====\x1b[0m|\n");
}

TEST(Render, ARanksSecondChunkIsInSmallLetters) {
  const std::string text = sampled("zb-v", 60);
  EXPECT_NE(text.find("F0"), std::string::npos);
  EXPECT_NE(text.find("f0"), std::string::npos);
  EXPECT_NE(text.find("w1"), std::string::npos);
}

}  // namespace
}  // namespace penstock::partition
