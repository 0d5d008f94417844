#include "partition/schedule/schedule.h"

#include <gtest/gtest.h>

namespace penstock::partition {
namespace {

using Ranks = std::vector<int>;

TEST(ChunkPlacement, GoesAroundTheRanks) {
  EXPECT_EQ(chunks_in_loops(3, 1), (Ranks{0, 1, 2}));
  EXPECT_EQ(chunks_in_loops(3, 3), (Ranks{0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST(ChunkPlacement, GoesThereAndBack) {
  EXPECT_EQ(chunks_in_a_v(1), (Ranks{0, 0}));
  EXPECT_EQ(chunks_in_a_v(4), (Ranks{0, 1, 2, 3, 3, 2, 1, 0}));
}

}  // namespace
}  // namespace penstock::partition
