#include "partition/report/render.h"

#include <gtest/gtest.h>

#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

std::string sampled(const char* name, int width) {
  const Schedule schedule = make_schedule(name, 2, 2);
  const std::vector<ChunkTimes> times(schedule.chunks(), {1, 1, 1});
  return render(schedule, simulate(schedule, equal_micro_batches(times)), width);
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

TEST(Render, ARanksSecondChunkIsInSmallLetters) {
  const std::string text = sampled("zb-v", 60);
  EXPECT_NE(text.find("F0"), std::string::npos);
  EXPECT_NE(text.find("f0"), std::string::npos);
  EXPECT_NE(text.find("w1"), std::string::npos);
}

}  // namespace
}  // namespace penstock::partition
