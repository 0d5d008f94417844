#include "runtime/data/augment/speech_codecs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "runtime/data/augment/add_noise.h"
#include "runtime/data/augment/g711.h"

namespace penstock::runtime {
namespace {

using configs::Codec;

const Codec kMulaw{.kind = Codec::Kind::mulaw}, kAlaw{.kind = Codec::Kind::alaw};
const Codec kGsm{.kind = Codec::Kind::gsm}, kOpus{.kind = Codec::Kind::opus, .kbits = 24};
const Codec kBand{.kind = Codec::Kind::band, .low = 300, .high = 3400};
const Codec kAll[] = {kMulaw, kAlaw, kGsm, kOpus, kBand};

std::vector<float> tone(double hertz, int rate, std::size_t samples) {
  std::vector<float> x(samples);
  for (std::size_t i = 0; i < samples; ++i)
    x[i] = static_cast<float>(
        0.3 * std::sin(2 * std::numbers::pi * hertz * static_cast<double>(i) / rate));
  return x;
}

/// Bursts of noise between 500 and 2000 Hz, about as a voice has them.
std::vector<float> bursts(int rate, std::size_t samples) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 0.2f);
  std::vector<float> x(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    const double beat = std::sin(2 * std::numbers::pi * 3 * static_cast<double>(i) / rate);
    x[i] = normal(random) * static_cast<float>(std::max(beat, 0.0));
  }
  pass_codec({.kind = Codec::Kind::band, .low = 500, .high = 2000}, rate, x);
  return x;
}

/// Returns the lag at which the two are most alike.
int delay(const std::vector<float>& before, const std::vector<float>& after, int most) {
  double best = 0;
  int found = -most - 1;
  for (int lag = -most; lag <= most; ++lag) {
    double sum = 0;
    for (int i = most; i + most < std::ssize(before); ++i)
      sum += static_cast<double>(before[static_cast<std::size_t>(i)]) *
             after[static_cast<std::size_t>(i + lag)];
    if (sum > best) {
      best = sum;
      found = lag;
    }
  }
  return found;
}

TEST(PassCodec, KeepsLengthAndTiming) {
  for (const int rate : {8000, 11025, 16000, 44100})
    for (const Codec& codec : kAll) {
      const std::vector<float> before = bursts(rate, static_cast<std::size_t>(rate / 3) + 333);
      std::vector<float> after = before;
      pass_codec(codec, rate, after);
      ASSERT_EQ(after.size(), before.size());
      EXPECT_NE(after, before);
      // GSM's filters shift what they pass by about half a sample of 8 kHz. Opus codes few bits at
      // 16 kHz: half a sample there is between one and two of 44.1 kHz.
      const int most = codec.kind == Codec::Kind::gsm    ? rate / 8000
                       : codec.kind == Codec::Kind::opus ? rate / 22050
                                                         : 0;
      EXPECT_LE(std::abs(delay(before, after, rate / 100)), most)
          << rate << " " << static_cast<int>(codec.kind);
    }
}

TEST(PassCodec, TakesAnyLength) {
  for (const std::size_t samples : {0, 1, 2, 159, 160, 161, 321})
    for (const Codec& codec : kAll) {
      std::vector<float> x = tone(1000, 16000, samples);
      pass_codec(codec, 16000, x);
      for (const float sample : x) EXPECT_TRUE(std::isfinite(sample));
    }
}

/// Two calls share no state.
TEST(PassCodec, DependsOnItsSamplesAlone) {
  for (const Codec& codec : kAll) {
    std::vector<float> one = bursts(16000, 9001), other = one;
    pass_codec(codec, 16000, one);
    std::vector<float> between = tone(440, 16000, 777);
    pass_codec(codec, 16000, between);
    pass_codec(codec, 16000, other);
    EXPECT_EQ(one, other);
  }
}

TEST(PassCodec, IsG711AtEightKilohertz) {
  const std::vector<float> before = bursts(8000, 777);
  for (const bool mulaw : {true, false}) {
    std::vector<float> after = before;
    pass_codec(mulaw ? kMulaw : kAlaw, 8000, after);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto sample = static_cast<std::int16_t>(std::lround(32768 * before[i]));
      EXPECT_EQ(after[i],
                static_cast<float>(mulaw ? through_mulaw(sample) : through_alaw(sample)) / 32768);
    }
  }
}

/// Returns how much of a tone's energy is left in the middle of a second, in decibels.
double left_of(const Codec& codec, double hertz) {
  const std::vector<float> before = tone(hertz, 16000, 16000);
  std::vector<float> after = before;
  pass_codec(codec, 16000, after);
  const auto middle = [](const std::vector<float>& x) {
    return energy(std::span(x).subspan(4000, 8000));
  };
  return 10 * std::log10(middle(after) / middle(before));
}

TEST(PassCodec, ABandPassesWhatLiesWithin) {
  for (const double hertz : {500, 1000, 3000}) EXPECT_NEAR(left_of(kBand, hertz), 0, 0.1) << hertz;
  for (const double hertz : {50, 100, 3800, 6000}) EXPECT_LT(left_of(kBand, hertz), -20) << hertz;
  EXPECT_NEAR(left_of({.kind = Codec::Kind::band, .low = 0, .high = 8000}, 7000), 0, 0.1);
}

TEST(PassCodec, TelephonesEndAtFourKilohertz) {
  for (const Codec& codec : {kMulaw, kAlaw, kGsm}) {
    EXPECT_GT(left_of(codec, 1000), -3);
    EXPECT_LT(left_of(codec, 5000), -20);
  }
  EXPECT_GT(left_of({.kind = Codec::Kind::opus, .kbits = 64}, 5000), -3);
}

TEST(PassCodec, OpusIsNearerAtAHigherRate) {
  const std::vector<float> before = bursts(16000, 16000);
  const auto error = [&](int kbits) {
    std::vector<float> after = before;
    pass_codec({.kind = Codec::Kind::opus, .kbits = kbits}, 16000, after);
    for (std::size_t i = 0; i < before.size(); ++i) after[i] -= before[i];
    return energy(after);
  };
  EXPECT_LT(error(128), 0.5 * error(8));
}

}  // namespace
}  // namespace penstock::runtime
