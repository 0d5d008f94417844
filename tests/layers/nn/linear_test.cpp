#include "layers/nn/linear.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;
using test::numbers;

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

/// A product whose outputs 3 to 6 of 9 have no bias, and one with zeros in their place.
class PartlyBiasedTest : public testing::Test {
 protected:
  Linear partly_{{.name = "l", .in = 7, .out = 9, .first_unbiased = 3, .unbiased = 4}};
  Linear whole_{{.name = "l", .in = 7, .out = 9}};
};

TEST_F(PartlyBiasedTest, ComputesWhatZerosDo) {
  LayerRunner ours(partly_, ragged(DType::f32)), zeros(whole_, ragged(DType::f32));
  for (LayerRunner* runner : {&ours, &zeros}) runner->randomise(3);
  const std::vector<double> bias = numbers(ours.param("l.bias"));
  ASSERT_EQ(bias.size(), 5);
  std::vector<double> filled = bias;
  filled.insert(filled.begin() + 3, 4, 0);
  test::assign(zeros.param("l.bias"), filled);
  test::assign(zeros.param("l.weight"), numbers(ours.param("l.weight")));
  test::assign(zeros.input().only().x_FC, numbers(ours.input().only().x_FC));
  test::assign(zeros.output_gradient().only().x_FC, numbers(ours.output_gradient().only().x_FC));
  for (LayerRunner* runner : {&ours, &zeros}) {
    runner->forward();
    runner->backward_input();
    runner->backward_weight();
  }
  EXPECT_EQ(numbers(ours.output().only().x_FC), numbers(zeros.output().only().x_FC));
  EXPECT_EQ(numbers(ours.input_gradient().only().x_FC),
            numbers(zeros.input_gradient().only().x_FC));
  EXPECT_EQ(numbers(ours.grad("l.weight")), numbers(zeros.grad("l.weight")));
  std::vector<double> gradient = numbers(zeros.grad("l.bias"));
  gradient.erase(gradient.begin() + 3, gradient.begin() + 7);
  EXPECT_EQ(numbers(ours.grad("l.bias")), gradient);
}

TEST_F(PartlyBiasedTest, HasTheGradientOfFiniteDifferences) {
  LayerRunner runner(partly_, ragged(DType::f64));
  runner.randomise(3);
  check_gradients(runner);
}

TEST_F(PartlyBiasedTest, RefusesMoreThanItsOutputs) {
  const Linear wrong({.name = "l", .in = 7, .out = 9, .first_unbiased = 6, .unbiased = 4});
  EXPECT_EQ(test::message_of<ShapeError>([&] { (void)wrong.plan(ragged(DType::f32), {}); }),
            "linear layer l has 9 outputs, but 4 from 6 on without a bias");
}

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
