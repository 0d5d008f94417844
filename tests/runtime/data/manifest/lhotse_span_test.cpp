#include "runtime/data/manifest/lhotse_span.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

TEST(LhotseSpan, IsCutToItsWholeByRoundingAlone) {
  const LhotseSpan inner = span_within({2, 1}, {0.25, 0.5}, "");
  EXPECT_DOUBLE_EQ(inner.start, 2.25);
  EXPECT_DOUBLE_EQ(inner.seconds, 0.5);
  const LhotseSpan rounded = span_within({2, 1}, {-0.009, 1.018}, "");
  EXPECT_DOUBLE_EQ(rounded.start, 2);
  EXPECT_DOUBLE_EQ(rounded.seconds, 1);
  EXPECT_EQ(test::message_of<DataError>([] {
              (void)span_within({2, 1}, {0.5, 0.75}, "Cut it.");
            }),
            "lasts from 0.5 to 1.25 s, but there are 1 s: no text may say more than is heard. Cut "
            "it.");
}

TEST(LhotseSpan, OfAWholeRecordingHasNoOffset) {
  const LhotseRecording recording{"a.wav", 2.5, 1};
  EXPECT_FALSE(make_entry(recording, {0, 2.5}).offset);
  EXPECT_FALSE(make_entry(recording, {0.0005, 2.4995}).offset);
  EXPECT_EQ(make_entry(recording, {0, 2.49}).offset, 0);
  EXPECT_EQ(make_entry(recording, {0.5, 2}).offset, 0.5);
  EXPECT_EQ(make_entry(recording, {0.5, 2}).duration, 2);
}

}  // namespace
}  // namespace penstock::runtime
