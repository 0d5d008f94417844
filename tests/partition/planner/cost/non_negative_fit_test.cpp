#include "partition/planner/cost/non_negative_fit.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

namespace penstock::partition {
namespace {

double error_of(const Observations& observed, const std::vector<double>& coefficients) {
  double error = 0;
  for (std::size_t i = 0; i < observed.values.size(); ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < coefficients.size(); ++k)
      sum += observed.terms[i][k] * coefficients[k];
    error += (sum / observed.values[i] - 1) * (sum / observed.values[i] - 1);
  }
  return error;
}

TEST(NonNegativeFit, FindsTheCoefficientsThatMadeTheNumbers) {
  Observations observed;
  for (const double x : {1.0, 3.0, 4.0, 7.0, 11.0}) {
    observed.terms.push_back({1, 1e6 * x, x * x});
    observed.values.push_back(2e-3 + 5e-9 * 1e6 * x + 7e-5 * x * x);
  }
  const auto found = fit_non_negative(observed);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NEAR(found[0], 2e-3, 1e-12);
  EXPECT_NEAR(found[1], 5e-9, 1e-18);
  EXPECT_NEAR(found[2], 7e-5, 1e-13);
}

TEST(NonNegativeFit, LeavesOutWhatWouldBeNegative) {
  // A line with a negative constant: without it the slope takes the least relative error.
  const Observations observed{{{1, 2}, {1, 3}, {1, 5}}, {1, 2, 4}};
  const auto found = fit_non_negative(observed);
  EXPECT_EQ(found[0], 0);
  // Σ (c · x / y − 1)² is least at Σ x/y / Σ (x/y)².
  const double slopes = 2 + 1.5 + 1.25, squares = 4 + 2.25 + 1.5625;
  EXPECT_NEAR(found[1], slopes / squares, 1e-12);
}

TEST(NonNegativeFit, TakesErrorsRelativeToTheScales) {
  // One slope for numbers that scatter: with equal scales it is their mean, else nearer the low
  // one.
  Observations observed{{{2}, {2}, {2}}, {6, 10, 2}, {5, 5, 5}};
  EXPECT_NEAR(fit_non_negative(observed).at(0), 3, 1e-12);
  observed.scales = {};
  EXPECT_LT(fit_non_negative(observed).at(0), 2);
}

TEST(NonNegativeFit, NoNonNegativeCoefficientsAreBetter) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0.1, 2);
  for (int round = 0; round < 50; ++round) {
    Observations observed;
    for (int i = 0; i < 9; ++i) {
      observed.terms.push_back({1, uniform(random), uniform(random)});
      observed.values.push_back(uniform(random));
    }
    const auto found = fit_non_negative(observed);
    const double min = error_of(observed, found);
    for (const double c : found) EXPECT_GE(c, 0);
    for (int k = 0; k < 3; ++k)
      for (const double by : {-0.01, 0.01}) {
        auto other = found;
        other[k] += by;
        if (other[k] < 0) continue;
        EXPECT_GE(error_of(observed, other), min) << round << ", " << k;
      }
  }
}

TEST(NonNegativeFit, TermsThatAreAlikeCountOnce) {
  const auto found = fit_non_negative({{{2, 2}, {2, 2}}, {6, 6}});
  EXPECT_NEAR(found[0], 3, 1e-12);
  EXPECT_EQ(found[1], 0);
  EXPECT_TRUE(fit_non_negative({}).empty());
  EXPECT_THROW(fit_non_negative({{std::vector<double>(9, 1.0)}, {1}}), std::invalid_argument);
}

}  // namespace
}  // namespace penstock::partition
