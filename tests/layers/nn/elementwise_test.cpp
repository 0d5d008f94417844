#include "layers/nn/elementwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"
#include "tests/support/layers/layer_runner.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;

ActivationDecl ragged_activations(DType dtype) { return {dtype, {{{7, 1, 13, 5}, 7}}}; }

TEST(ClippedReLU, AgreesWithPyTorchExactly) {
  const Golden golden("clipped_relu");
  const ClippedReLU layer("relu1");
  LayerRunner runner(layer, ragged_activations(DType::f32));
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  runner.forward();
  runner.backward_input();
  EXPECT_EQ(golden.error(runner.output().only().x_FC, "y"), 0);
  EXPECT_EQ(golden.error(runner.input_gradient().only().x_FC, "dx"), 0);
}

TEST(ClippedReLU, HasTheGradientOfFiniteDifferences) {
  const ClippedReLU layer("relu1");
  LayerRunner runner(layer, ragged_activations(DType::f64));
  runner.randomise(3);
  double* x = runner.input().only().x_FC.as<double>();
  for (std::int64_t i = 0; i < 26 * 7; ++i) {
    x[i] = 10 + 30 * x[i];  // below, inside and above the bounds
    if (std::abs(x[i]) < 0.01 || std::abs(x[i] - 20) < 0.01) x[i] += 0.02;
  }
  check_gradients(runner);
}

using test::Golden;
using test::LayerRunner;

struct NonlinearityCase {
  const char* name;
  NonlinearityKind kind;
};

struct NonlinearityCases : testing::TestWithParam<NonlinearityCase> {
  const Nonlinearity layer{"act", GetParam().kind};
};

TEST_P(NonlinearityCases, AgreesWithPyTorch) {
  const Golden golden("nonlinearity");
  const Shape shape = golden.shape("x");
  LayerRunner runner(layer, {DType::f32, {{{shape[0]}, shape[1]}}});
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  runner.forward();
  runner.backward_input();
  const std::string name = GetParam().name;
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y_" + name), 1e-6);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx_" + name), 1e-6);
}

TEST_P(NonlinearityCases, HasTheGradientOfFiniteDifferences) {
  LayerRunner runner(layer, {DType::f64, {{{7, 1, 13, 5}, 7}}});
  runner.randomise(3);
  double* x = runner.input().only().x_FC.as<double>();
  for (std::int64_t i = 0; i < 26 * 7; ++i) x[i] *= 5;  // the bend, and both tails
  check_gradients(runner);
}

INSTANTIATE_TEST_SUITE_P(Kinds, NonlinearityCases,
                         testing::Values(NonlinearityCase{"gelu", NonlinearityKind::gelu},
                                         NonlinearityCase{"gelu_tanh", NonlinearityKind::gelu_tanh},
                                         NonlinearityCase{"silu", NonlinearityKind::silu}),
                         [](const auto& tested) { return tested.param.name; });

using test::Golden;
using test::LayerRunner;

struct GateCase {
  const char* name;
  GateKind kind;
};

struct GateCases : testing::TestWithParam<GateCase> {
  const Gate layer{"gate", GetParam().kind};
};

TEST_P(GateCases, AgreesWithPyTorch) {
  const Golden golden("gate");
  const Shape shape = golden.shape("x");
  LayerRunner runner(layer, {DType::f32, {{{shape[0]}, shape[1]}}});
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  runner.forward();
  runner.backward_input();
  const std::string name = GetParam().name;
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y_" + name), 1e-6);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx_" + name), 1e-6);
}

TEST_P(GateCases, HasTheGradientOfFiniteDifferences) {
  LayerRunner runner(layer, {DType::f64, {{{7, 1, 13, 5}, 10}}});
  runner.randomise(3);
  check_gradients(runner);
}

INSTANTIATE_TEST_SUITE_P(Kinds, GateCases,
                         testing::Values(GateCase{"glu", GateKind::glu},
                                         GateCase{"swiglu", GateKind::swiglu}),
                         [](const auto& tested) { return tested.param.name; });

TEST(Gate, RejectsAnOddNumberOfChannels) {
  const Gate layer("gate", GateKind::glu);
  EXPECT_THROW(layer.plan({DType::f32, {{{5}, 13}}}, {}), ShapeError);
}

TEST(Scale, MultipliesNumbersAndTheirGradients) {
  const Scale layer("scale", 2.5);
  test::LayerRunner runner(layer, {DType::f64, {{{2, 1}, 3}}});
  runner.randomise(4);
  runner.forward();
  runner.backward_input();
  const auto times = [](std::vector<double> values) {
    for (double& value : values) value *= 2.5;
    return values;
  };
  EXPECT_EQ(test::numbers(runner.output().only().x_FC),
            times(test::numbers(runner.input().only().x_FC)));
  EXPECT_EQ(test::numbers(runner.input_gradient().only().x_FC),
            times(test::numbers(runner.output_gradient().only().x_FC)));
}

TEST(Scale, ComputesNothingThatNobodyNeeds) {
  const Scale layer("scale", 2.5);
  test::LayerRunner runner(layer, {DType::f64, {{{2, 1}, 3}}});
  runner.randomise(4);
  runner.forward();
  runner.backward_input(false);
  for (const double value : test::numbers(runner.input_gradient().only().x_FC))
    EXPECT_TRUE(std::isnan(value));
}

using test::LayerRunner;
using test::numbers;

constexpr std::int64_t kChannels = 7;

// Dropout makes of ones 0 or 1 / (1 - probability).
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
