#include "layers/nn/lora_linear.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;

const std::vector<std::uint64_t> kUtterances = {11, 3, 8, 5};

ActivationDecl adapted_input(DType dtype) { return {dtype, {{{7, 1, 13, 5}, 7}}}; }

Linear base(bool bias = true) {
  return Linear({.name = "output", .in = 7, .out = 9, .bias = bias});
}

void run_all(LayerRunner& runner) {
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
}

TEST(LoraLinear, AgreesWithPyTorch) {
  const Golden golden("lora_linear");
  const LoraLinear layer(base(), {.rank = 4, .alpha = 6});
  LayerRunner runner(layer, adapted_input(DType::f32));
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  golden.copy("weight", runner.param("output.weight"));
  golden.copy("bias", runner.param("output.bias"));
  golden.copy("a", runner.param("output.lora_A.weight"));
  golden.copy("b", runner.param("output.lora_B.weight"));
  run_all(runner);
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y"), 1e-5);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), 1e-4);
  EXPECT_LE(golden.error(runner.grad("output.lora_A.weight"), "da"), 1e-4);
  EXPECT_LE(golden.error(runner.grad("output.lora_B.weight"), "db"), 1e-4);
}

TEST(LoraLinear, HasTheGradientOfFiniteDifferences) {
  const Linear partly_biased(
      {.name = "output", .in = 7, .out = 9, .first_unbiased = 3, .unbiased = 4});
  for (const Linear& linear : {base(false), base(true), partly_biased})
    for (const double dropout : {0.0, 0.4}) {
      const LoraLinear layer(linear, {.rank = 3, .alpha = 5, .dropout = dropout});
      LayerRunner runner(layer, adapted_input(DType::f64));
      runner.random.utterances = kUtterances;
      runner.randomise(3);
      check_gradients(runner);
    }
}

TEST(LoraLinear, IsTheLinearLayerAtFirst) {
  const Linear plain = base();
  const LoraLinear layer(plain, {.rank = 3});
  for (const DType dtype : {DType::f32, DType::bf16}) {
    LayerRunner expected(plain, adapted_input(dtype)), runner(layer, adapted_input(dtype));
    for (LayerRunner* each : {&expected, &runner}) {
      each->randomise(5);
      if (each == &runner)
        test::assign(runner.param("output.lora_B.weight"), std::vector<double>(27));
      each->forward();
    }
    EXPECT_EQ(test::numbers(runner.output().only().x_FC),
              test::numbers(expected.output().only().x_FC));
  }
}

TEST(LoraLinear, DropsOnlyItsOwnInputInTraining) {
  const LoraLinear dropping(base(), {.rank = 3, .dropout = 0.5}), whole(base(), {.rank = 3});
  LayerRunner runner(dropping, adapted_input(DType::f32)),
      expected(whole, adapted_input(DType::f32));
  for (LayerRunner* each : {&runner, &expected}) {
    each->random.utterances = kUtterances;
    each->randomise(9);
    each->forward();
  }
  EXPECT_NE(test::numbers(runner.output().only().x_FC),
            test::numbers(expected.output().only().x_FC));
  runner.mode = expected.mode = Mode::evaluate;
  runner.forward();
  expected.forward();
  EXPECT_EQ(test::numbers(runner.output().only().x_FC),
            test::numbers(expected.output().only().x_FC));
}

TEST(LoraLinear, FreezesTheLinearLayer) {
  const LayerPlan plan = LoraLinear(base(), {.rank = 3}).plan(adapted_input(DType::f32), {});
  ASSERT_EQ(plan.params.size(), 4u);
  for (std::size_t i = 0; i < plan.params.size(); ++i) {
    EXPECT_EQ(plan.params[i].frozen(), i < 2) << plan.params[i].name;
    EXPECT_EQ(plan.params[i].summed, i >= 2) << plan.params[i].name;
  }
  EXPECT_EQ(plan.flops.backward_weight, 2.0 * 26 * 3 * (7 + 9));
}

TEST(LoraLinear, RejectsRanksAndRowsInParts) {
  EXPECT_THROW(LoraLinear(base(), {.rank = 0}), ShapeError);
  EXPECT_THROW(LoraLinear(Linear({.name = "a", .in = 7, .out = 3, .parts = 2}), {}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
