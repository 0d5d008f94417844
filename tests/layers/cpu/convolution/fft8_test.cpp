#include "layers/cpu/convolution/fft8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>

namespace penstock::layers {
namespace {

using Points = std::vector<Complex8>;

Points random_points(std::int64_t count) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Points points(static_cast<std::size_t>(count));
  for (Complex8& point : points)
    for (int lane = 0; lane < 8; ++lane) {
      point.re[lane] = uniform(random);
      point.im[lane] = uniform(random);
    }
  return points;
}

// Largest error of out[k·out_stride] against the sum over n of in[n·in_stride]·exp(sign·2πi·kn/N),
// over the largest value.
double error(std::int64_t length, double sign, const Points& in, std::int64_t in_stride,
             const Points& out, std::int64_t out_stride) {
  double worst = 0, largest = 0;
  for (std::int64_t k = 0; k < length; ++k)
    for (int lane = 0; lane < 8; ++lane) {
      std::complex<double> sum = 0;
      for (std::int64_t n = 0; n < length; ++n) {
        const Complex8& x = in[n * in_stride];
        sum += std::complex<double>(x.re[lane], x.im[lane]) *
               std::polar(1.0, sign * 2 * std::numbers::pi * (k * n % length) / length);
      }
      const Complex8& y = out[k * out_stride];
      worst = std::max(worst, std::abs(sum - std::complex<double>(y.re[lane], y.im[lane])));
      largest = std::max(largest, std::abs(sum));
    }
  return worst / largest;
}

TEST(Fft8, MatchesTheDftOfEveryLengthBothWays) {
  const double tolerance = 8 * std::numeric_limits<float>::epsilon();  // log2(256) stages
  for (std::int64_t length : {4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256}) {
    ASSERT_EQ(Fft8::length_for(length), length);
    const Fft8 fft(length);
    const Points in = random_points(length * 3);
    Points out(static_cast<std::size_t>(length * 2));
    fft.forward(in.data(), 3, out.data(), 2);
    EXPECT_LE(error(length, -1, in, 3, out, 2), tolerance) << length;
    fft.inverse(in.data(), 3, out.data(), 2);
    EXPECT_LE(error(length, 1, in, 3, out, 2), tolerance) << length;
  }
}

TEST(Fft8, TakesTheShortestLengthThatFits) {
  EXPECT_EQ(Fft8::length_for(1), 4);
  EXPECT_EQ(Fft8::length_for(25), 32);
  EXPECT_EQ(Fft8::length_for(46), 48);
  EXPECT_EQ(Fft8::length_for(91), 96);
  EXPECT_EQ(Fft8::length_for(257), 0);
}

}  // namespace
}  // namespace penstock::layers
