#include "layers/nn/depthwise_conv1d.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/nn/elementwise.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;
using test::numbers;

struct DepthwiseConv1dCases : testing::TestWithParam<const char*> {};

TEST_P(DepthwiseConv1dCases, AgreesWithPyTorch) {
  const Golden golden(GetParam());
  const Shape weight = golden.shape("weight");
  const bool gated = GetParam() == std::string("depthwise_conv1d_gated");
  const bool bias = gated || GetParam() == std::string("depthwise_conv1d");
  const DepthwiseConv1d layer({.name = "conv",
                               .channels = weight[0],
                               .kernel = weight[1],
                               .left = golden.integers("left")[0],
                               .bias = bias,
                               .gated = gated});
  LayerRunner runner(layer, {DType::f32, {{golden.integers("lengths"), golden.shape("x")[1]}}});
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  golden.copy("weight", runner.param("conv.weight"));
  if (bias) golden.copy("bias", runner.param("conv.bias"));
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y"), 1e-5);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), 1e-4);
  EXPECT_LE(golden.error(runner.grad("conv.weight"), "dweight"), 1e-4);
  if (bias) {
    EXPECT_LE(golden.error(runner.grad("conv.bias"), "dbias"), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, DepthwiseConv1dCases,
                         testing::Values("lookahead", "lookahead_long", "depthwise_conv1d",
                                         "depthwise_conv1d_long", "depthwise_conv1d_causal",
                                         "depthwise_conv1d_gated"));

TEST(DepthwiseConv1d, HasTheGradientOfFiniteDifferences) {
  for (std::int64_t left : {0, 3}) {
    const DepthwiseConv1d layer(
        {.name = "conv", .channels = 5, .kernel = 6, .left = left, .bias = left > 0});
    LayerRunner runner(layer, {DType::f64, {{{7, 1, 13, 5}, 5}}});
    runner.randomise(2);
    check_gradients(runner, {.step = 1e-3});  // linear: no error from a long step
  }
}

TEST(DepthwiseConv1d, HasTheGradientOfFiniteDifferencesWhenGated) {
  for (std::int64_t kernel : {1, 6, 19}) {  // of one frame, of some, and longer than any utterance
    const DepthwiseConv1d layer({.name = "conv",
                                 .channels = 5,
                                 .kernel = kernel,
                                 .left = kernel / 2,
                                 .bias = true,
                                 .gated = true});
    LayerRunner runner(layer, {DType::f64, {{{7, 1, 13, 5}, 10}}});
    runner.randomise(2);
    check_gradients(runner);
  }
}

// 19 channels: two vectors, and lanes left; an utterance of two tiles of frames and some left.
TEST(DepthwiseConv1d, GatedIsTheGateAndTheConvolution) {
  const auto copy = [](const Tensor& from, const Tensor& to) { test::assign(to, numbers(from)); };
  DepthwiseConv1dOptions options{
      .name = "conv", .channels = 19, .kernel = 11, .left = 5, .bias = true};
  const Gate gate("gate", GateKind::glu);
  const DepthwiseConv1d behind(options);
  options.gated = true;
  const DepthwiseConv1d layer(options);
  const std::vector<std::int64_t> lengths = {7, 1, 21, 16};
  LayerRunner whole(layer, {DType::f32, {{lengths, 38}}}),
      first(gate, {DType::f32, {{lengths, 38}}}), second(behind, {DType::f32, {{lengths, 19}}});
  whole.randomise(6);
  second.randomise(6);
  copy(whole.input().only().x_FC, first.input().only().x_FC);
  copy(whole.output_gradient().only().x_FC, second.output_gradient().only().x_FC);
  for (const char* name : {"conv.weight", "conv.bias"}) copy(whole.param(name), second.param(name));
  whole.forward();
  first.forward();
  copy(first.output().only().x_FC, second.input().only().x_FC);
  second.forward();
  second.backward_input();
  copy(second.input_gradient().only().x_FC, first.output_gradient().only().x_FC);
  first.backward_input();
  second.backward_weight();
  whole.backward_input();
  whole.backward_weight();
  const auto expect_near = [](const Tensor& a, const Tensor& b, const char* what) {
    EXPECT_LE(test::relative_error(numbers(a), numbers(b)), 1e-6) << what;
  };
  expect_near(whole.output().only().x_FC, second.output().only().x_FC, "y");
  expect_near(whole.input_gradient().only().x_FC, first.input_gradient().only().x_FC, "dx");
  for (const char* name : {"conv.weight", "conv.bias"})
    expect_near(whole.grad(name), second.grad(name), name);
}

TEST(DepthwiseConv1d, LeavesGradientsAloneWithoutFrames) {
  const DepthwiseConv1d layer(
      {.name = "conv", .channels = 2, .kernel = 3, .left = 1, .bias = true});
  LayerRunner runner(layer, {DType::f32, {{{}, 2}}});
  runner.randomise(2);
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  EXPECT_EQ(test::numbers(runner.grad("conv.bias")), (std::vector<double>{0, 0}));
}

TEST(DepthwiseConv1d, RejectsOtherChannels) {
  for (bool gated : {false, true}) {
    const DepthwiseConv1d layer({.name = "conv", .channels = 5, .kernel = 3, .gated = gated});
    EXPECT_THROW(layer.plan({DType::f32, {{{3}, 6}}}, {}), ShapeError);
  }
}

TEST(DepthwiseConv1d, RejectsAKernelThatMissesThePresent) {
  for (std::int64_t left : {-1, 3})
    EXPECT_THROW(DepthwiseConv1d({.name = "conv", .channels = 5, .kernel = 3, .left = left}),
                 ShapeError);
}

}  // namespace
}  // namespace penstock::layers
