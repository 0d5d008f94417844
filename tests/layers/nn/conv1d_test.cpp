#include "layers/nn/conv1d.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;

Conv1dOptions options_of(const Golden& golden) {
  const std::vector<std::int64_t> o = golden.integers("options");
  return {.name = "conv",
          .in_channels = golden.shape("x")[1],
          .out_channels = golden.shape("y")[1],
          .groups = o[0],
          .kernel = o[1],
          .stride = o[2],
          .dilation = o[3],
          .left = o[4],
          .right = o[5],
          .bias = golden.has("bias"),
          .weight_norm = golden.has("weight_g")};
}

struct Conv1dCases : testing::TestWithParam<const char*> {};

TEST_P(Conv1dCases, AgreesWithPyTorch) {
  const Golden golden(GetParam());
  const Conv1d layer(options_of(golden));
  LayerRunner runner(layer, {DType::f32, {{golden.integers("lengths"), golden.shape("x")[1]}}});
  std::vector<std::string> params;
  for (const char* name : {"weight", "weight_g", "weight_v", "bias"})
    if (golden.has(name)) params.emplace_back(name);
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  for (const std::string& name : params) golden.copy(name, runner.param("conv." + name));
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y"), 1e-5);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), 1e-5);
  for (const std::string& name : params)
    EXPECT_LE(golden.error(runner.grad("conv." + name), "d" + name), 1e-5) << name;
}

INSTANTIATE_TEST_SUITE_P(Geometries, Conv1dCases,
                         testing::Values("conv1d_strided", "conv1d_gaps", "conv1d_grouped",
                                         "conv1d_dilated", "conv1d_causal", "conv1d_weight_norm",
                                         "conv1d_two_taps"));

TEST(Conv1d, HasTheGradientOfFiniteDifferences) {
  Conv1dOptions plain{
      .name = "conv", .in_channels = 3, .out_channels = 5, .kernel = 5, .stride = 2};
  Conv1dOptions grouped{.name = "conv",
                        .in_channels = 6,
                        .out_channels = 4,
                        .groups = 2,
                        .kernel = 3,
                        .dilation = 2,
                        .left = 3,
                        .right = 1};
  Conv1dOptions two_taps = plain;
  two_taps.kernel = 4;
  two_taps.stride = 3;
  for (const Conv1dOptions& options : {plain, two_taps, grouped}) {
    const Conv1d layer(options);
    LayerRunner runner(layer, {DType::f64, {{{7, 5, 13}, options.in_channels}}});
    runner.randomise(2);
    check_gradients(runner, {.step = 1e-3});  // linear: no error from a long step
  }
}

TEST(Conv1d, HasTheGradientOfDifferencesWithWeightNorm) {
  const Conv1d layer({.name = "conv",
                      .in_channels = 4,
                      .out_channels = 6,
                      .groups = 2,
                      .kernel = 4,
                      .left = 2,
                      .right = 1,
                      .weight_norm = true});
  LayerRunner runner(layer, {DType::f64, {{{7, 1, 13, 5}, 4}}});
  runner.randomise(2);
  check_gradients(runner, {});
}

TEST(Conv1d, KeepsLengthsOfWeightsThatStartUniform) {
  const Conv1d layer({.name = "c",
                      .in_channels = 64,
                      .out_channels = 64,
                      .kernel = 3,
                      .bias = false,
                      .weight_norm = true});
  const LayerPlan plan = layer.plan({DType::f32, {{{9}, 64}}}, {});
  // The mean square of numbers uniform in ±b is b²/3.
  const double b = plan.params[1].initialiser.value;
  EXPECT_DOUBLE_EQ(plan.params[0].initialiser.value, std::sqrt(64 * 64 * b * b / 3));
}

TEST(Conv1d, LeavesGradientsAloneWithoutUtterances) {
  const Conv1d layer({.name = "conv", .in_channels = 2, .out_channels = 3, .kernel = 3});
  LayerRunner runner(layer, {DType::f32, {{{}, 2}}});
  runner.randomise(2);
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  EXPECT_EQ(test::numbers(runner.grad("conv.bias")), (std::vector<double>{0, 0, 0}));
}

TEST(Conv1d, RejectsUtterancesShorterThanItsField) {
  const Conv1d layer(
      {.name = "c", .in_channels = 1, .out_channels = 3, .kernel = 4, .dilation = 2});
  EXPECT_EQ(layer.plan({DType::f32, {{{7}, 1}}}, {}).output.only().lengths[0], 1);
  EXPECT_THROW(layer.plan({DType::f32, {{{9, 6}, 1}}}, {}), ShapeError);
}

TEST(Conv1d, RejectsWhatMakesNoConvolution) {
  const Conv1dOptions good{.name = "conv", .in_channels = 6, .out_channels = 4, .kernel = 3};
  EXPECT_THROW(Conv1d(good).plan({DType::f32, {{{9}, 5}}}, {}), ShapeError);
  for (const auto member : {&Conv1dOptions::in_channels, &Conv1dOptions::kernel,
                            &Conv1dOptions::stride, &Conv1dOptions::dilation}) {
    Conv1dOptions bad = good;
    bad.*member = 0;
    EXPECT_THROW(Conv1d{bad}, ShapeError);
  }
  Conv1dOptions groups = good, zeros = good;
  groups.groups = 4;
  zeros.left = 3;
  EXPECT_THROW(Conv1d{groups}, ShapeError);
  EXPECT_THROW(Conv1d{zeros}, ShapeError);
}

}  // namespace
}  // namespace penstock::layers
