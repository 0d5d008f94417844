#include "runtime/data/augment/convolve.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"

namespace penstock::runtime {
namespace {

std::vector<float> noise(std::size_t samples, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(samples);
  for (float& sample : x) sample = normal(random);
  return x;
}

TEST(Convolve, EqualsTheSum) {
  for (const std::size_t samples : {1, 2, 7, 33, 500})
    for (const std::size_t taps : {1, 2, 5, 64, 333}) {
      const std::vector<float> x = noise(samples, 1), h = noise(taps, 2);
      for (const std::size_t lead : {std::size_t{0}, taps / 2, taps - 1}) {
        const std::vector<float> y = convolve(x, h, static_cast<std::int64_t>(lead));
        ASSERT_EQ(y.size(), samples);
        for (std::size_t t = 0; t < samples; ++t) {
          double sum = 0;
          for (std::size_t k = 0; k < taps; ++k)
            if (t + lead >= k && t + lead - k < samples)
              sum += static_cast<double>(h[k]) * x[t + lead - k];
          EXPECT_NEAR(y[t], sum, 1e-5) << samples << " " << taps << " " << lead << " " << t;
        }
      }
    }
}

// torchaudio.functional.fftconvolve, torchaudio 2.11
TEST(Convolve, EqualsTorchaudio) {
  const std::vector<float> x{0.5, -0.25, 0.125, 0.75, -0.5, 0, 0.25}, h{0.1, -0.2, 1, 0.5, -0.25};
  const std::vector<double> full{0.050000015646219254, -0.1249999925494194,  0.5625,
                                 0.04999999701976776,  -0.32499998807907104, 0.9750000238418579,
                                 -0.1312500238418579,  -0.48750001192092896, 0.375};
  const std::vector<float> causal = convolve(x, h, 0), aligned = convolve(x, h, 2);
  for (std::size_t t = 0; t < x.size(); ++t) {
    EXPECT_NEAR(causal[t], full[t], 1e-7);
    EXPECT_NEAR(aligned[t], full[t + 2], 1e-7);
  }
}

TEST(Convolve, RefusesWhatIsEmpty) {
  const std::vector<float> x{1, 2}, none;
  EXPECT_THROW((void)convolve(none, x, 0), ShapeError);
  EXPECT_THROW((void)convolve(x, none, 0), ShapeError);
  EXPECT_THROW((void)convolve(x, x, 2), ShapeError);
  EXPECT_THROW((void)convolve(x, x, -1), ShapeError);
}

}  // namespace
}  // namespace penstock::runtime
