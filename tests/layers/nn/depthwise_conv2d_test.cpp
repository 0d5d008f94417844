#include "layers/nn/depthwise_conv2d.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;

constexpr Conv2dAxis kHalving{.kernel = 3, .stride = 2, .padding = 1};

DepthwiseConv2d like_subsampling(std::int64_t channels, std::int64_t frequencies) {
  return DepthwiseConv2d({"conv", channels, frequencies, kHalving, kHalving, true});
}
DepthwiseConv2d uneven() { return DepthwiseConv2d({"conv", 3, 7, {2, 1, 0}, {4, 3, 2}}); }

void expect_golden(const DepthwiseConv2d& layer, const std::string& name) {
  const Golden golden(name);
  LayerRunner runner(layer, {DType::f32, {{golden.integers("lengths"), golden.shape("x")[1]}}});
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
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), 1e-5);
  EXPECT_LE(golden.error(runner.grads()[0], "dweight"), 1e-4);
  if (with_bias) {
    EXPECT_LE(golden.error(runner.grads()[1], "dbias"), 1e-5);
  }
}

TEST(DepthwiseConv2d, AgreesWithPyTorchOnFastConformersSubsampling) {
  expect_golden(like_subsampling(5, 9), "depthwise_conv2d");
}

TEST(DepthwiseConv2d, AgreesWithPyTorchOnUnevenKernels) {
  expect_golden(uneven(), "depthwise_conv2d_uneven");
}

TEST(DepthwiseConv2d, HasTheGradientOfFiniteDifferences) {
  const DepthwiseConv2d layers[] = {like_subsampling(11, 5), uneven()};
  for (const DepthwiseConv2d& layer : layers) {
    const std::int64_t columns = &layer == layers ? 55 : 21;
    LayerRunner runner(layer, {DType::f64, {{{7, 1, 13, 5}, columns}}});
    runner.randomise(5);
    check_gradients(runner, {.step = 1e-3, .elements = 60});  // linear: no error from a long step
  }
}

TEST(DepthwiseConv2d, GivesEachUtteranceWhatItGetsAlone) {
  const DepthwiseConv2d layer = like_subsampling(11, 5);
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
  EXPECT_THROW(DepthwiseConv2d({"conv", 5, 9, {3, 0, 1}, kHalving}), ShapeError);
  EXPECT_THROW(DepthwiseConv2d({"conv", 5, 2, {3, 1, 0}, kHalving}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
