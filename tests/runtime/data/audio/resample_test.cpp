#include "runtime/data/audio/resample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.h"

namespace penstock::runtime {
namespace {

std::vector<float> tone(std::int64_t samples, double cycles_per_sample) {
  std::vector<float> sound(static_cast<std::size_t>(samples));
  for (std::size_t i = 0; i < sound.size(); ++i)
    sound[i] = static_cast<float>(
        std::sin(2 * std::numbers::pi * cycles_per_sample * static_cast<double>(i)));
  return sound;
}

TEST(Resample, RatiosAreInLowestTerms) {
  EXPECT_EQ(resampling(44100, 16000), (Resampling{441, 160}));
  EXPECT_EQ(resampling(8000, 8000), (Resampling{1, 1}));
  EXPECT_EQ(resampling(16000, 16000, 0.9), (Resampling{9, 10}));
  EXPECT_EQ(resampling(8000, 16000, 1.1), (Resampling{11, 20}));
}

TEST(Resample, LengthsAreRoundedUp) {
  EXPECT_EQ(resampled_samples(1, {441, 160}), 1);
  EXPECT_EQ(resampled_samples(441, {441, 160}), 160);
  EXPECT_EQ(resampled_samples(442, {441, 160}), 161);
  EXPECT_EQ(resampled_samples(7, {9, 10}), 8);
}

TEST(Resample, KeepsAToneAtOddLengthsAndRatios) {
  for (const Resampling ratio : {Resampling{9, 10}, {11, 10}, {441, 160}, {1, 2}, {20, 11}}) {
    const double cycles = 0.04;
    const std::vector<float> input = tone(12347, cycles);
    std::vector<float> output(static_cast<std::size_t>(resampled_samples(12347, ratio)));
    resample(input, ratio, output);
    const double step = static_cast<double>(ratio.from) / static_cast<double>(ratio.to);
    const std::vector<float> expected = tone(std::ssize(output), cycles * step);
    // A resampler of 20 bits; its filter's ends are kept out.
    for (std::size_t i = 300; i + 300 < output.size(); ++i)
      ASSERT_NEAR(output[i], expected[i], 1e-4) << ratio.from << "/" << ratio.to << " at " << i;
  }
}

TEST(Resample, RemovesWhatTheLowerRateCannotCarry) {
  const std::vector<float> input = tone(9001, 0.4);
  std::vector<float> output(4501);
  resample(input, {2, 1}, output);
  for (std::size_t i = 300; i + 300 < output.size(); ++i) ASSERT_NEAR(output[i], 0, 1e-4);
}

TEST(Resample, ManagesTheShortestInputs) {
  for (const std::int64_t samples : {1, 2, 3, 5})
    for (const Resampling ratio : {Resampling{9, 10}, {441, 160}, {1, 2}}) {
      std::vector<float> output(static_cast<std::size_t>(resampled_samples(samples, ratio)), NAN);
      resample(tone(samples, 0.1), ratio, output);
      for (const float x : output) EXPECT_TRUE(std::isfinite(x));
    }
}

TEST(Resample, RejectsImpossibleRatiosAndWrongOutputSizes) {
  EXPECT_THROW((void)resampling(16000, 16000, 0), DataError);
  EXPECT_THROW((void)resampling(16000, 16000, -1), DataError);
  EXPECT_THROW((void)resampling(4000000, 8000), DataError);
  std::vector<float> room(9);
  EXPECT_THROW(resample(tone(10, 0.1), {1, 1}, room), ShapeError);
}

}  // namespace
}  // namespace penstock::runtime
