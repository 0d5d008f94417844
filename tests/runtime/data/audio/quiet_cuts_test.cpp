#include "runtime/data/audio/quiet_cuts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <span>

#include "base/error.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

std::vector<SampleRange> cut(std::span<const float> samples, int rate, double seconds) {
  QuietCuts cuts(rate, seconds);
  for (const float sample : samples) cuts.add(sample);
  return cuts.finish();
}

/// Parts follow one another through all samples. None is too long, and only the last two may be
/// short: the last one has half a second, which it may take from the one before.
void expect_parts(const std::vector<SampleRange>& parts, std::int64_t samples, int rate,
                  double seconds) {
  std::int64_t end = 0;
  for (const SampleRange& part : parts) {
    EXPECT_EQ(part.first, end);
    EXPECT_LE(static_cast<double>(part.samples), seconds * rate);
    const double taken = &part == &parts[parts.size() - 2 + (parts.size() == 1)] ? 0.5 : 0;
    if (&part != &parts.back()) {
      EXPECT_GE(static_cast<double>(part.samples), (seconds / 2 - taken - 0.02) * rate);
    } else if (parts.size() > 1) {
      EXPECT_GE(static_cast<double>(part.samples), 0.5 * rate);
    }
    end += part.samples;
  }
  EXPECT_EQ(end, samples);
}

/// A second of noise, and 0.2 s of a thousandth of it, in turns.
std::vector<float> noise_with_pauses(int rate, int times, double gain) {
  std::mt19937 random(5);
  std::vector<float> samples;
  for (int i = 0; i < times; ++i)
    for (int s = 0; s < rate * 6 / 5; ++s) {
      const double noise = static_cast<double>(random() % 2001) / 1000 - 1;
      samples.push_back(static_cast<float>(gain * noise * (s < rate ? 1 : 0.001)));
    }
  return samples;
}

TEST(QuietCuts, FallIntoPauses) {
  for (const int rate : {8000, 11025, 44100})
    for (const double gain : {1.0, 1e-3}) {
      const auto samples = noise_with_pauses(rate, 12, gain);
      const auto parts = cut(samples, rate, 4);
      expect_parts(parts, std::ssize(samples), rate, 4);
      EXPECT_GE(parts.size(), 4u);
      for (const SampleRange& part : parts) {
        const double seconds = static_cast<double>(part.first) / rate;
        const double within = std::fmod(seconds, 1.2);
        EXPECT_TRUE(part.first == 0 || within > 1.0) << seconds;
      }
    }
}

TEST(QuietCuts, CutSilenceAndNoiseToo) {
  for (const std::int64_t samples : {79999, 80000, 80001, 80080, 123456, 400001}) {
    const std::vector<float> silence(static_cast<std::size_t>(samples));
    const auto parts = cut(silence, 8000, 10);
    expect_parts(parts, samples, 8000, 10);
    EXPECT_EQ(parts.size() > 1, samples > 80000);
    expect_parts(cut(test::make_sound(samples), 8000, 10), samples, 8000, 10);
  }
  EXPECT_TRUE(cut({}, 8000, 10).empty());
  EXPECT_EQ(cut(std::vector<float>(1), 8000, 10), (std::vector<SampleRange>{{0, 1}}));
}

TEST(QuietCuts, ReadARecordingPieceByPiece) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "a.flac";
  test::write_sound(file, noise_with_pauses(8000, 80, 0.3), {0x170002, 8000});
  const Audio whole = read_audio(file);
  EXPECT_EQ(cut_where_quiet(file, {0, std::ssize(whole.samples)}, 5), cut(whole.samples, 8000, 5));
  EXPECT_EQ(cut_where_quiet(file, {1234, 300000}, 5),
            cut(std::span(whole.samples).subspan(1234, 300000), 8000, 5));
  EXPECT_THROW((void)cut_where_quiet(file, {1234, 30000000}, 5), DataError);
  EXPECT_THROW((void)QuietCuts(8000, 0.4), ConfigError);
}

}  // namespace
}  // namespace penstock::runtime
