#include "layers/nn/dropout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::LayerRunner;
using test::numbers;

constexpr std::int64_t kChannels = 7;

// What dropout makes of ones: 0 or 1 / (1 - probability).
std::vector<double> of_ones(const Dropout& layer, std::vector<std::int64_t> lengths,
                            std::vector<std::uint64_t> utterances, std::uint64_t seed = 1,
                            std::uint32_t epoch = 0) {
  LayerRunner runner(layer, {DType::f32, {{std::move(lengths), kChannels}}});
  const Tensor& x = runner.input().only().x_FC;
  test::assign(x, std::vector<double>(static_cast<std::size_t>(x.size()), 1.0));
  runner.random = {seed, epoch, utterances};
  runner.forward();
  return numbers(runner.output().only().x_FC);
}

TEST(Dropout, DropsTheSameInAnyPacking) {
  const Dropout layer("dropout1", 0.4);
  auto joined = of_ones(layer, {5, 13}, {42, 1ull << 40});
  const auto first = of_ones(layer, {5}, {42});
  const auto second = of_ones(layer, {13}, {1ull << 40});
  EXPECT_TRUE(std::equal(first.begin(), first.end(), joined.begin()));
  EXPECT_TRUE(std::equal(second.begin(), second.end(), joined.begin() + 5 * kChannels));
  EXPECT_NE(second, of_ones(layer, {13}, {1ull << 41}));
}

TEST(Dropout, DependsOnSeedEpochAndLayer) {
  const Dropout layer("dropout1", 0.4), other("dropout2", 0.4);
  const auto values = of_ones(layer, {13}, {42});
  EXPECT_EQ(values, of_ones(layer, {13}, {42}));
  EXPECT_NE(values, of_ones(layer, {13}, {42}, 2));
  EXPECT_NE(values, of_ones(layer, {13}, {42}, 1, 1));
  EXPECT_NE(values, of_ones(other, {13}, {42}));
}

TEST(Dropout, DropsItsShareAndScalesTheRest) {
  const double p = 0.3;
  const auto values = of_ones(Dropout("dropout1", p), {3001}, {3});
  const auto kept = static_cast<double>(
      std::count(values.begin(), values.end(), static_cast<float>(1 / (1 - p))));
  const auto dropped = static_cast<double>(std::count(values.begin(), values.end(), 0.0));
  const auto n = static_cast<double>(values.size());
  EXPECT_EQ(kept + dropped, n);
  EXPECT_NEAR(dropped / n, p, 5 * std::sqrt(p * (1 - p) / n));
}

TEST(Dropout, HasTheGradientOfFiniteDifferences) {
  const Dropout layer("dropout1", 0.5);
  LayerRunner runner(layer, {DType::f64, {{{7, 1, 13, 5}, kChannels}}});
  const std::vector<std::uint64_t> utterances = {9, 4, 1, 7};
  runner.random = {5, 2, utterances};
  runner.randomise(1);
  check_gradients(runner);
}

TEST(Dropout, CopiesInEvaluation) {
  const Dropout layer("dropout1", 0.5);
  LayerRunner runner(layer, {DType::f32, {{{7, 2}, kChannels}}});
  runner.randomise(1);
  runner.mode = Mode::evaluate;
  runner.forward();
  EXPECT_EQ(numbers(runner.output().only().x_FC), numbers(runner.input().only().x_FC));
}

TEST(Dropout, RejectsWhatItCantDo) {
  EXPECT_THROW(Dropout("dropout1", 1), ShapeError);
  EXPECT_THROW(Dropout("dropout1", -0.1), ShapeError);
  EXPECT_THROW(of_ones(Dropout("dropout1", 0.5), {3, 4}, {1}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
