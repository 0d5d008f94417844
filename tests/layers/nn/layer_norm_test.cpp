#include "layers/nn/layer_norm.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;
using test::numbers;

struct LayerNormCases : testing::TestWithParam<const char*> {
  const bool centred = GetParam() == std::string("layer_norm");

  LayerNorm layer(std::int64_t channels) const {
    return LayerNorm({.name = "norm", .channels = channels, .centred = centred, .bias = centred});
  }
};

TEST_P(LayerNormCases, AgreesWithPyTorch) {
  const Golden golden(GetParam());
  const Shape shape = golden.shape("x");
  const LayerNorm norm = layer(shape[1]);
  LayerRunner runner(norm, {DType::f32, {{{shape[0]}, shape[1]}}});
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  golden.copy("weight", runner.param("norm.weight"));
  if (centred) golden.copy("bias", runner.param("norm.bias"));
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y"), 1e-5);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), 1e-4);
  EXPECT_LE(golden.error(runner.grad("norm.weight"), "dweight"), 1e-4);
  if (centred) {
    EXPECT_LE(golden.error(runner.grad("norm.bias"), "dbias"), 1e-5);
  }
}

TEST_P(LayerNormCases, HasTheGradientOfFiniteDifferences) {
  const LayerNorm norm = layer(7);
  LayerRunner runner(norm, {DType::f64, {{{7, 1, 13, 5}, 7}}});
  runner.randomise(11);
  check_gradients(runner);
}

TEST_P(LayerNormCases, AFrameIgnoresItsNeighbours) {
  const LayerNorm norm = layer(19);
  LayerRunner packed(norm, {DType::f32, {{{3, 2}, 19}}});
  packed.randomise(5);
  packed.mode = Mode::evaluate;
  packed.forward();
  LayerRunner alone(norm, {DType::f32, {{{2}, 19}}});
  const std::vector<double> x = numbers(packed.input().only().x_FC);
  const std::vector<double> y = numbers(packed.output().only().x_FC);
  test::assign(alone.input().only().x_FC, {x.begin() + 3 * 19, x.end()});
  for (std::size_t i = 0; i < packed.params().size(); ++i)
    test::assign(alone.params()[i], numbers(packed.params()[i]));
  alone.mode = Mode::evaluate;
  alone.forward();
  EXPECT_EQ(numbers(alone.output().only().x_FC), std::vector<double>(y.begin() + 3 * 19, y.end()));
}

INSTANTIATE_TEST_SUITE_P(Norms, LayerNormCases, testing::Values("layer_norm", "rms_norm"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(LayerNorm, HasNoReductionsWithoutFrames) {
  const LayerNorm layer({.name = "norm", .channels = 2});
  LayerRunner runner(layer, {DType::f32, {{{}, 2}}});
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  EXPECT_EQ(numbers(runner.grad("norm.weight")), (std::vector<double>{0, 0}));
}

TEST(LayerNorm, RejectsOtherChannels) {
  const LayerNorm layer({.name = "norm", .channels = 4});
  EXPECT_THROW(layer.plan({DType::f32, {{{5}, 3}}}, {}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
