#include "runtime/data/augment/add_noise.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"

namespace penstock::runtime {
namespace {

const std::vector<float> kSpeech{0.5, -0.25, 0.125, 0.75, -0.5, 0, 0.25};
const std::vector<float> kNoise{0.1, 0.2, -0.3, 0.4, -0.1, 0.05, 0.3};

// torchaudio.functional.add_noise(kSpeech, kNoise, snr=7.5), torchaudio 2.11
TEST(AddNoise, EqualsTorchaudio) {
  std::vector<float> samples = kSpeech;
  add_noise(samples, kNoise, 7.5);
  const std::vector<double> expected{0.572907567024231,  -0.10418492555618286, -0.0937226265668869,
                                     1.0416301488876343, -0.572907567024231,   0.036453768610954285,
                                     0.4687226414680481};
  for (std::size_t i = 0; i < samples.size(); ++i) EXPECT_NEAR(samples[i], expected[i], 2e-7);
}

TEST(AddNoise, LeavesSilenceAlone) {
  std::vector<float> silence(7), samples = kSpeech;
  add_noise(silence, kNoise, 0);
  EXPECT_EQ(silence, std::vector<float>(7));
  add_noise(samples, std::vector<float>(7), 0);
  EXPECT_EQ(samples, kSpeech);
  EXPECT_THROW(add_noise(samples, std::vector<float>(6), 0), ShapeError);
}

TEST(ApplyGain, IsInDecibels) {
  std::vector<float> samples{1, -0.5};
  apply_gain(samples, 20);
  EXPECT_EQ(samples, (std::vector<float>{10, -5}));
  apply_gain(samples, -40);
  EXPECT_EQ(samples, (std::vector<float>{0.1f, -0.05f}));
}

}  // namespace
}  // namespace penstock::runtime
