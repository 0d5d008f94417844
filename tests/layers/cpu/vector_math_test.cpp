#include "layers/cpu/vector_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace penstock::layers {
namespace {

using Function = Vector<float> (*)(Vector<float>);

/// Largest relative error over 200,000 floats of [low, high], evenly spread.
double relative_error(Function fast, double (*exact)(double), double low, double high) {
  constexpr int kSteps = 200'000;
  double worst = 0;
  for (int step = 0; step < kSteps; step += kLanes<float>) {
    Vector<float> x = {};
    for (int lane = 0; lane < kLanes<float>; ++lane)
      x[lane] = static_cast<float>(low + (high - low) * (step + lane) / kSteps);
    const Vector<float> y = fast(x);
    for (int lane = 0; lane < kLanes<float>; ++lane) {
      const double wanted = exact(x[lane]);
      if (wanted != 0) worst = std::max(worst, std::abs(y[lane] / wanted - 1));
    }
  }
  return worst;
}

double exact_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(VectorMathTest, StaysWithinItsErrors) {
  const auto exp_error = [](double low, double high) {
    return relative_error(exp, static_cast<double (*)(double)>(std::exp), low, high);
  };
  const auto tanh_error = [](double low, double high) {
    return relative_error(tanh, static_cast<double (*)(double)>(std::tanh), low, high);
  };
  EXPECT_LT(exp_error(-87.2, 88.2), 2e-7);
  EXPECT_LT(exp_error(-1, 1), 2e-7);
  EXPECT_LT(tanh_error(-20, 20), 2e-7);
  EXPECT_LT(tanh_error(-0.7, 0.7), 2e-7);
  EXPECT_LT(tanh_error(-1e-3, 1e-3), 2e-7);
  EXPECT_LT(relative_error(sigmoid, exact_sigmoid, -80, 80), 3e-7);
  EXPECT_LT(relative_error(sigmoid, exact_sigmoid, -4, 4), 3e-7);
}

TEST(VectorMathTest, FarOutStaysFinite) {
  const float huge = std::numeric_limits<float>::infinity();
  const Vector<float> x = {-huge, huge, -1e30f, 1e30f, -100, 100, 0, -0.0f};
  const Vector<float> s = sigmoid(x), t = tanh(x);
  for (int lane = 0; lane < 6; lane += 2) {
    EXPECT_NEAR(s[lane], 0, 1e-37);
    EXPECT_EQ(s[lane + 1], 1);
    EXPECT_EQ(t[lane], -1);
    EXPECT_EQ(t[lane + 1], 1);
  }
  EXPECT_EQ(s[6], 0.5f);
  EXPECT_EQ(t[6], 0);
}

TEST(VectorMathTest, NotANumberIsNotHidden) {
  const Vector<float> x = Vector<float>{} + std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(exp(x)[0]));
  EXPECT_TRUE(std::isnan(sigmoid(x)[0]));
  EXPECT_TRUE(std::isnan(tanh(x)[0]));
}

TEST(VectorTest, PartialVectorsLeaveTheRestUntouched) {
  const std::vector<float> from = {1, 2, 3, 4, 5};
  std::vector<float> to(7, -1.0f);
  for_each_vector<float>(5, [&](std::int64_t first, std::int64_t lanes) {
    store<float>(to.data() + first, 2.0f * load<float>(from.data() + first, lanes), lanes);
  });
  EXPECT_EQ(to, (std::vector<float>{2, 4, 6, 8, 10, -1, -1}));
  EXPECT_EQ(whole_vectors<float>(9), 16);
  EXPECT_EQ(whole_vectors<double>(8), 8);
}

}  // namespace
}  // namespace penstock::layers
