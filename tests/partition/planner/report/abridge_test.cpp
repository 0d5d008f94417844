#include "partition/planner/report/abridge.h"

#include <gtest/gtest.h>

namespace penstock::partition {
namespace {

TEST(Abridge, NamesLayersShortly) {
  EXPECT_EQ(layer_names("conv1", "conv1", 1), "conv1");
  EXPECT_EQ(layer_names("conv1", "rnn2", 5), "conv1 to rnn2 (5)");
  EXPECT_EQ(layer_names("Linear(in_features=1024, out_features=32320)", "", 1),
            "Linear(in_features=1024, ...");
}

TEST(Abridge, LeavesOutWhatNobodyCouldRead) {
  EXPECT_TRUE(has_room_for(2, 1000));
  EXPECT_FALSE(has_room_for(1 << 20, 1 << 20));
}

}  // namespace
}  // namespace penstock::partition
