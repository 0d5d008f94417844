#include "runtime/optim/loss_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace penstock::runtime {
namespace {

LossScale scale_of(const std::string& rule, const std::string& compute = "fp16") {
  return LossScale({.compute = compute, .loss_scaling = rule, .scale = 256});
}

TEST(LossScale, IsOneWhereTheRangeIsWide) {
  for (const char* compute : {"fp32", "bf16"}) {
    LossScale scale = scale_of("backoff", compute);
    scale.update(true, 0);
    EXPECT_EQ(scale.value(), 1) << compute;
  }
}

TEST(LossScale, StaticStays) {
  LossScale scale = scale_of("static");
  scale.update(true, 0);
  EXPECT_EQ(scale.value(), 256);
}

TEST(LossScale, BackoffHalvesAtOnceAndDoublesAfter2000Steps) {
  LossScale scale = scale_of("backoff");
  EXPECT_EQ(scale.value(), 16384);
  scale.update(true, 0);
  scale.update(true, 0);
  EXPECT_EQ(scale.value(), 4096);
  for (int i = 0; i < 1999; ++i) scale.update(false, 1);
  EXPECT_EQ(scale.value(), 4096);
  scale.update(false, 1);
  EXPECT_EQ(scale.value(), 8192);
  for (int i = 0; i < 6000; ++i) scale.update(false, 1);
  EXPECT_EQ(scale.value(), 16384);
  for (int i = 0; i < 30; ++i) scale.update(true, 0);
  EXPECT_EQ(scale.value(), 1);
}

// Equal gradients have no deviation: 2^(16 - log2 of the largest).
TEST(LossScale, LogMaxKeepsSteadyGradientsBelowTheTop) {
  LossScale scale = scale_of("logmax");
  EXPECT_EQ(scale.value(), 1);
  for (int i = 0; i < 50; ++i) {
    scale.update(false, 64);
    EXPECT_NEAR(scale.value(), 1024, 1e-3);
  }
  scale.update(true, std::numeric_limits<double>::infinity());
  EXPECT_LT(scale.value(), 1024);
}

// The same numbers from sums over the whole history, as the formulas are written.
TEST(LossScale, LogMaxFollowsMeanAndDeviation) {
  LossScale scale = scale_of("logmax");
  const double xs[] = {3, 5.5, 4, 16, 2};
  double mean = 0, slow = 0, square = 0, weight = 0, slow_weight = 0;
  for (double x : xs) {
    scale.update(x == 16, x == 16 ? std::nan("") : std::exp2(x));
    mean = 0.99 * mean + 0.01 * x;
    weight = 0.99 * weight + 0.01;
    slow = 0.999 * slow + 0.001 * x;
    square = 0.999 * square + 0.001 * x * x;
    slow_weight = 0.999 * slow_weight + 0.001;
    const double m = slow / slow_weight;
    const double deviation = std::sqrt(std::max(square / slow_weight - m * m, 0.0));
    const double wanted = std::exp2(16 - (mean / weight + 3.09 * deviation));
    EXPECT_NEAR(scale.value(), std::min(std::max(wanted, 1.0), 16384.0), 1e-6 * wanted);
  }
}

TEST(LossScale, GoesOnFromItsState) {
  for (const char* rule : {"backoff", "logmax"}) {
    LossScale one = scale_of(rule);
    for (int i = 0; i < 7; ++i) one.update(i % 3 == 0, 5 + i);
    LossScale other = scale_of(rule);
    other.restore(one.state());
    for (int i = 0; i < 2500; ++i) {
      one.update(i % 2200 == 7, 3 + i % 5);
      other.update(i % 2200 == 7, 3 + i % 5);
      ASSERT_EQ(one.value(), other.value()) << rule << ", " << i;
    }
  }
}

}  // namespace
}  // namespace penstock::runtime
