#include "layers/nn/conv2d.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;

constexpr Conv2dAxis kFrequency1{41, 2, 20}, kTime1{11, 2, 5};
constexpr Conv2dAxis kFrequency2{21, 2, 10}, kTime2{11, 1, 5};

Conv2d like_conv1(std::int64_t out) { return Conv2d({"conv1", 1, out, 29, kFrequency1, kTime1}); }
Conv2d like_conv2(std::int64_t in, std::int64_t out) {
  return Conv2d({"conv2", in, out, 15, kFrequency2, kTime2});
}

constexpr Conv2dAxis kHalving{.kernel = 3, .stride = 2, .padding = 1};

Conv2d depthwise(std::int64_t channels, std::int64_t frequencies, const Conv2dAxis& frequency,
                 const Conv2dAxis& time, bool bias) {
  return Conv2d({"conv", channels, channels, frequencies, frequency, time, bias, true});
}
Conv2d like_subsampling(std::int64_t channels, std::int64_t frequencies) {
  return depthwise(channels, frequencies, kHalving, kHalving, true);
}
Conv2d uneven() { return depthwise(3, 7, {2, 1, 0}, {4, 3, 2}, false); }

void expect_golden(const Conv2d& layer, const std::string& name, double dx_tolerance = 1e-4) {
  const Golden golden(name);
  const Shape x = golden.shape("x");
  LayerRunner runner(layer, {DType::f32, {{golden.integers("lengths"), x[1]}}});
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("weight", runner.params()[0]);
  const bool with_bias = runner.params().size() == 2;
  if (with_bias) golden.copy("bias", runner.params()[1]);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  EXPECT_EQ(runner.params()[0].shape, golden.shape("weight"));
  EXPECT_EQ(runner.output().only().x_FC.shape, golden.shape("y"));
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y"), 1e-5);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), dx_tolerance);
  EXPECT_LE(golden.error(runner.grads()[0], "dweight"), 1e-4);
  if (with_bias) {
    EXPECT_LE(golden.error(runner.grads()[1], "dbias"), 1e-5);
  }
}

void expect_gradients(const Conv2d& layer, const std::vector<std::int64_t>& lengths,
                      std::int64_t columns) {
  LayerRunner runner(layer, {DType::f64, {{lengths, columns}}});
  runner.randomise(5);
  check_gradients(runner, {.step = 1e-3, .elements = 60});  // linear: no error from a long step
}

TEST(Conv2d, AgreesWithPyTorchOnDeepSpeech2sFirst) { expect_golden(like_conv1(6), "conv1"); }

TEST(Conv2d, AgreesWithPyTorchOnDeepSpeech2sSecond) { expect_golden(like_conv2(4, 3), "conv2"); }

TEST(Conv2d, AgreesWithPyTorchWithBias) {
  expect_golden(Conv2d({"conv", 3, 5, 9, {3, 2, 1}, {3, 2, 1}, true}), "conv2d_bias");
}

/// A convolution that halves frames and frequencies, with a bias.
Conv2d halving_pieces(std::int64_t piece) {
  return Conv2d({.name = "conv",
                 .in_channels = 2,
                 .out_channels = 3,
                 .in_frequencies = 5,
                 .frequency = kHalving,
                 .time = kHalving,
                 .bias = true,
                 .piece = piece});
}

TEST(Conv2d, SeesEachPieceAlone) {
  const Conv2d cut = halving_pieces(3), whole = halving_pieces(0);
  LayerRunner pieces(cut, {DType::f64, {{{7, 0, 3, 5}, 10}}}),
      apart(whole, {DType::f64, {{{3, 3, 1, 3, 3, 2}, 10}}});
  pieces.randomise(3);
  test::assign(apart.input().only().x_FC, test::numbers(pieces.input().only().x_FC));
  for (std::size_t i = 0; i < 2; ++i)
    test::assign(apart.params()[i], test::numbers(pieces.params()[i]));
  pieces.forward();
  apart.forward();
  const auto lengths = pieces.output().only().lengths;
  EXPECT_EQ(std::vector<std::int64_t>(lengths.begin(), lengths.end()),
            (std::vector<std::int64_t>{5, 0, 2, 3}));
  EXPECT_EQ(test::numbers(pieces.output().only().x_FC), test::numbers(apart.output().only().x_FC));
}

TEST(Conv2d, OfPiecesHasTheGradientOfFiniteDifferences) {
  expect_gradients(halving_pieces(3), {7, 0, 3, 5}, 10);
}

TEST(DepthwiseConv2d, AgreesWithPyTorchOnFastConformersSubsampling) {
  expect_golden(like_subsampling(5, 9), "depthwise_conv2d", 1e-5);
}

TEST(DepthwiseConv2d, AgreesWithPyTorchOnUnevenKernels) {
  expect_golden(uneven(), "depthwise_conv2d_uneven", 1e-5);
}

TEST(DepthwiseConv2d, HasTheGradientOfFiniteDifferences) {
  expect_gradients(like_subsampling(11, 5), {7, 1, 13, 5}, 55);
  expect_gradients(uneven(), {7, 1, 13, 5}, 21);
}

TEST(Conv2d, HasTheGradientOfFiniteDifferences) {
  expect_gradients(like_conv1(3), {13, 1, 24, 5}, 29);
  expect_gradients(like_conv2(2, 3), {7, 1, 13, 5}, 30);
  expect_gradients(Conv2d({"gaps", 2, 3, 10, {2, 3, 0}, {1, 2, 0}}), {7, 1, 4}, 20);
  expect_gradients(Conv2d({"bias", 2, 3, 5, {3, 2, 1}, {3, 2, 1}, true}), {7, 1, 13, 5}, 10);
}

TEST(Conv2d, PlansLengthsByIntegerArithmetic) {
  const ActivationDecl input{DType::f32, {{{7, 1, 13, 400}, 29}}};
  const LayerPlan plan = like_conv1(6).plan(input, {});
  EXPECT_EQ(plan.output.only().lengths, (std::vector<std::int64_t>{4, 1, 7, 200}));
  EXPECT_EQ(plan.output.only().channels, 15 * 6);
  EXPECT_EQ(plan.params[0].shape, (Shape{6, 1, 41, 11}));
  EXPECT_DOUBLE_EQ(plan.params[0].initialiser.value, 1 / std::sqrt(451.0));
}

TEST(DepthwiseConv2d, GivesEachUtteranceWhatItGetsAlone) {
  const Conv2d layer = like_subsampling(11, 5);
  LayerRunner together(layer, {DType::f32, {{{7, 1, 13}, 55}}});
  LayerRunner alone(layer, {DType::f32, {{{13}, 55}}});
  together.randomise(3);
  const auto all = test::numbers(together.input().only().x_FC);
  test::assign(alone.input().only().x_FC, std::vector<double>(all.end() - 13 * 55, all.end()));
  for (std::size_t i = 0; i < 2; ++i)
    test::assign(alone.params()[i], test::numbers(together.params()[i]));
  together.forward();
  alone.forward();
  const auto packed = test::numbers(together.output().only().x_FC);
  EXPECT_EQ(test::numbers(alone.output().only().x_FC),
            std::vector<double>(packed.end() - 7 * 33, packed.end()));
}

TEST(DepthwiseConv2d, RejectsWhatDoesNotFit) {
  EXPECT_THROW(like_subsampling(5, 9).plan({DType::f32, {{{7}, 46}}}, {}), ShapeError);
  EXPECT_THROW(like_subsampling(5, 9).plan({DType::f32, {{{7, 0}, 45}}}, {}), ShapeError);
  EXPECT_THROW(like_subsampling(0, 9), ShapeError);
  EXPECT_THROW(depthwise(5, 9, {3, 0, 1}, kHalving, false), ShapeError);
  EXPECT_THROW(depthwise(5, 2, {3, 1, 0}, kHalving, false), ShapeError);
  EXPECT_THROW(Conv2d({"conv", 5, 6, 9, kHalving, kHalving, false, true}), ShapeError);
}

TEST(Conv2d, RejectsWhatDoesNotFit) {
  EXPECT_THROW(like_conv1(6).plan({DType::f32, {{{7}, 30}}}, {}), ShapeError);
  EXPECT_THROW(like_conv1(6).plan({DType::f32, {{{7, 0}, 29}}}, {}), ShapeError);
  EXPECT_THROW(Conv2d({"short", 1, 2, 9, {12, 1, 1}, {1, 1, 0}}), ShapeError);
  EXPECT_THROW(Conv2d({"still", 1, 2, 9, {3, 0, 1}, {1, 1, 0}}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
