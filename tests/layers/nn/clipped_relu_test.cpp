#include "layers/nn/clipped_relu.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;

ActivationDecl ragged_activations(DType dtype) { return {dtype, {{{7, 1, 13, 5}, 7}}}; }

TEST(ClippedReLU, AgreesWithPyTorchExactly) {
  const Golden golden("clipped_relu");
  const ClippedReLU layer("relu1");
  LayerRunner runner(layer, ragged_activations(DType::f32));
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  runner.forward();
  runner.backward_input();
  EXPECT_EQ(golden.error(runner.output().only().x_FC, "y"), 0);
  EXPECT_EQ(golden.error(runner.input_gradient().only().x_FC, "dx"), 0);
}

TEST(ClippedReLU, HasTheGradientOfFiniteDifferences) {
  const ClippedReLU layer("relu1");
  LayerRunner runner(layer, ragged_activations(DType::f64));
  runner.randomise(3);
  double* x = runner.input().only().x_FC.as<double>();
  for (std::int64_t i = 0; i < 26 * 7; ++i) {
    x[i] = 10 + 30 * x[i];  // below, inside and above the bounds
    if (std::abs(x[i]) < 0.01 || std::abs(x[i] - 20) < 0.01) x[i] += 0.02;
  }
  check_gradients(runner);
}

}  // namespace
}  // namespace penstock::layers
