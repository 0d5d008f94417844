#include "layers/nn/linear.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;

ActivationDecl ragged(DType dtype) { return {dtype, {{{7, 1, 13, 5}, 7}}}; }

class LinearTest : public testing::TestWithParam<bool> {  // with bias
 protected:
  Linear layer_{{.name = "output", .in = 7, .out = 9, .bias = GetParam()}};
};

TEST_P(LinearTest, AgreesWithPyTorch) {
  const Golden golden(GetParam() ? "linear" : "linear_plain");
  LayerRunner runner(layer_, ragged(DType::f32));
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  golden.copy("weight", runner.param("output.weight"));
  if (GetParam()) golden.copy("bias", runner.param("output.bias"));
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y"), 1e-5);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), 1e-4);
  EXPECT_LE(golden.error(runner.grad("output.weight"), "dweight"), 1e-4);
  if (GetParam()) {
    EXPECT_LE(golden.error(runner.grad("output.bias"), "dbias"), 1e-4);
  }
}

TEST_P(LinearTest, HasTheGradientOfFiniteDifferences) {
  LayerRunner runner(layer_, ragged(DType::f64));
  runner.randomise(3);
  check_gradients(runner);
}

INSTANTIATE_TEST_SUITE_P(Bias, LinearTest, testing::Bool());

TEST(LinearPartsTest, AreMultipliedEachByItself) {
  const Linear parts({.name = "a", .in = 7, .out = 3, .parts = 2});
  const Linear rows({.name = "a", .in = 7, .out = 3});
  LayerRunner frames(parts, {DType::f32, {{{7, 1, 5}, 14}}});
  LayerRunner twice(rows, {DType::f32, {{{14, 2, 10}, 7}}});
  for (LayerRunner* runner : {&frames, &twice}) {
    runner->randomise(3);
    runner->forward();
    runner->backward_input();
    runner->backward_weight();
  }
  EXPECT_EQ(frames.output().only().x_FC.shape, (Shape{13, 6}));
  EXPECT_EQ(test::numbers(frames.output().only().x_FC), test::numbers(twice.output().only().x_FC));
  EXPECT_EQ(test::numbers(frames.input_gradient().only().x_FC),
            test::numbers(twice.input_gradient().only().x_FC));
  EXPECT_EQ(test::numbers(frames.grads()[0]), test::numbers(twice.grads()[0]));
  EXPECT_EQ(test::numbers(frames.grads()[1]), test::numbers(twice.grads()[1]));
  EXPECT_EQ(frames.plan().flops.forward, twice.plan().flops.forward);
}

TEST(LinearPlanTest, DefaultsToPyTorchsInitialisationBound) {
  const Linear plain({.name = "a", .in = 16, .out = 3});
  const Linear bounded({.name = "b", .in = 16, .out = 3, .bound = 0.125});
  const ActivationDecl input{DType::f32, {{{2, 3}, 16}}};
  for (const ParamDecl& param : plain.plan(input, {}).params)
    EXPECT_EQ(param.initialiser.value, 0.25) << param.name;
  for (const ParamDecl& param : bounded.plan(input, {}).params)
    EXPECT_EQ(param.initialiser.value, 0.125) << param.name;
}

TEST(LinearPlanTest, RejectsOtherChannels) {
  const Linear layer({.name = "output", .in = 16, .out = 3});
  EXPECT_THROW(layer.plan({DType::f32, {{{2}, 15}}}, {}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
