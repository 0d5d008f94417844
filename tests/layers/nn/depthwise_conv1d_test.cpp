#include "layers/nn/depthwise_conv1d.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;

struct DepthwiseConv1dCases : testing::TestWithParam<const char*> {};

TEST_P(DepthwiseConv1dCases, AgreesWithPyTorch) {
  const Golden golden(GetParam());
  const Shape weight = golden.shape("weight");
  const bool bias = GetParam() == std::string("depthwise_conv1d");
  const DepthwiseConv1d layer({.name = "conv",
                               .channels = weight[0],
                               .kernel = weight[1],
                               .left = golden.integers("left")[0],
                               .bias = bias});
  LayerRunner runner(layer, {DType::f32, {{golden.integers("lengths"), weight[0]}}});
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
                                         "depthwise_conv1d_long", "depthwise_conv1d_causal"));

TEST(DepthwiseConv1d, HasTheGradientOfFiniteDifferences) {
  for (std::int64_t left : {0, 3}) {
    const DepthwiseConv1d layer(
        {.name = "conv", .channels = 5, .kernel = 6, .left = left, .bias = left > 0});
    LayerRunner runner(layer, {DType::f64, {{{7, 1, 13, 5}, 5}}});
    runner.randomise(2);
    check_gradients(runner, {.step = 1e-3});  // linear: no error from a long step
  }
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
  const DepthwiseConv1d layer({.name = "conv", .channels = 5, .kernel = 3});
  EXPECT_THROW(layer.plan({DType::f32, {{{3}, 6}}}, {}), ShapeError);
}

TEST(DepthwiseConv1d, RejectsAKernelThatMissesThePresent) {
  for (std::int64_t left : {-1, 3})
    EXPECT_THROW(DepthwiseConv1d({.name = "conv", .channels = 5, .kernel = 3, .left = left}),
                 ShapeError);
}

}  // namespace
}  // namespace penstock::layers
