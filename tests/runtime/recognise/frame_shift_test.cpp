#include "runtime/recognise/frame_shift.h"

#include <gtest/gtest.h>

#include "tests/support/partition/small_sequence.h"

namespace penstock::runtime {
namespace {

TEST(FrameShift, CountsTheFramesThatAreJoined) {
  EXPECT_EQ(joined_frames(test::small_sequence()), 2);
  configs::FeatureConfig features;
  EXPECT_DOUBLE_EQ(frame_shift(test::small_sequence(), features), 0.02);
  features.hop_ms = 12.5;
  features.stack = 2;
  EXPECT_DOUBLE_EQ(frame_shift(test::small_sequence(), features), 0.05);
  features.kind = "waveform";
  features.sample_rate = 8000;
  EXPECT_DOUBLE_EQ(frame_shift(test::small_sequence(), features), 2.0 / 8000);
}

}  // namespace
}  // namespace penstock::runtime
