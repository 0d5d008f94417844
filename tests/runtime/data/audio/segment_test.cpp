#include "runtime/data/audio/segment.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

constexpr AudioLength kRecording{40011, 16000};  // 2.5006875 s

/// Why the segment is refused.
std::string fault_of(const Segment& segment, const AudioLength& recording = kRecording) {
  return test::message_of<DataError>([&] { (void)samples_of(segment, recording); });
}

TEST(Segment, HasTheSamplesBetweenItsRoundedEnds) {
  EXPECT_EQ(samples_of({0.5, 0.25}, kRecording), (SampleRange{8000, 4000}));
  EXPECT_EQ(samples_of({0.29, 0.1}, kRecording), (SampleRange{4640, 1600}));  // 4639.999…
  EXPECT_EQ(samples_of({0, {}}, kRecording), (SampleRange{0, 40011}));
  EXPECT_EQ(samples_of({2.5, {}}, kRecording), (SampleRange{40000, 11}));
  EXPECT_EQ(samples_of({0, 1.0 / 3}, {44100, 44100}), (SampleRange{0, 14700}));
}

TEST(Segment, ThatFollowsAnotherBeginsWhereThatEnds) {
  const AudioLength recording{1'000'003, 44100};  // 0.073 s end at half a sample at times
  std::int64_t at = 0;
  for (int i = 0; i < 300; ++i) {
    const SampleRange range = samples_of({i * 0.073, 0.073}, recording);
    EXPECT_EQ(range.first, at) << i;
    at = range.first + range.samples;
  }
}

TEST(Segment, MayEndALittleBehindTheRecording) {
  EXPECT_EQ(samples_of({2, 0.6}, kRecording), (SampleRange{32000, 8011}));
  EXPECT_EQ(
      fault_of({2, 0.7}),
      "it ends at 2.7 s, its offset and duration together, but the recording lasts 2.50069 s");
}

TEST(Segment, BeyondTheRecordingIsRefused) {
  EXPECT_EQ(fault_of({2.6, {}}), "its offset is 2.6 s, but the recording lasts 2.50069 s");
  EXPECT_EQ(fault_of({3, 0.01}), "its offset is 3 s, but the recording lasts 2.50069 s");
}

TEST(Segment, WithoutASampleIsRefused) {
  EXPECT_EQ(fault_of({1, 0.00001}), "its 1e-05 s hold no sample at 16000 Hz");
  EXPECT_EQ(fault_of({2.50068, {}}), "its 7.5e-06 s hold no sample at 16000 Hz");
}

}  // namespace
}  // namespace penstock::runtime
