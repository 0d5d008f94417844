#include "layers/nn/scale.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/layers/layer_runner.h"

namespace penstock::layers {
namespace {

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

}  // namespace
}  // namespace penstock::layers
