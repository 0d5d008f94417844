#include "layers/ops/recurrence.h"

#include <gtest/gtest.h>

namespace penstock::layers {
namespace {

TEST(FrameOrderTest, VisitsLongUtterancesFirst) {
  const std::vector<std::int64_t> lengths = {2, 1, 4, 2};  // rows 0–1, 2, 3–6, 7–8
  const FrameOrder forwards(lengths, false), backwards(lengths, true);
  ASSERT_EQ(forwards.steps(), 4);
  const std::vector<std::vector<std::int64_t>> rows = {{3, 0, 7, 2}, {4, 1, 8}, {5}, {6}};
  const std::vector<std::vector<std::int64_t>> reversed = {{6, 1, 8, 2}, {5, 0, 7}, {4}, {3}};
  for (std::int64_t step = 0; step < 4; ++step) {
    ASSERT_EQ(forwards.active(step), static_cast<std::int64_t>(rows[step].size()));
    for (std::int64_t rank = 0; rank < forwards.active(step); ++rank) {
      EXPECT_EQ(forwards.row(step, rank), rows[step][rank]);
      EXPECT_EQ(backwards.row(step, rank), reversed[step][rank]);
    }
  }
  EXPECT_EQ(forwards.active(4), 0);
}

}  // namespace
}  // namespace penstock::layers
