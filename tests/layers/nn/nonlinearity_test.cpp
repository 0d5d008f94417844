#include "layers/nn/nonlinearity.h"

#include <gtest/gtest.h>

#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;

struct NonlinearityCase {
  const char* name;
  NonlinearityKind kind;
};

struct NonlinearityCases : testing::TestWithParam<NonlinearityCase> {
  const Nonlinearity layer{"act", GetParam().kind};
};

TEST_P(NonlinearityCases, AgreesWithPyTorch) {
  const Golden golden("nonlinearity");
  const Shape shape = golden.shape("x");
  LayerRunner runner(layer, {DType::f32, {{{shape[0]}, shape[1]}}});
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  runner.forward();
  runner.backward_input();
  const std::string name = GetParam().name;
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y_" + name), 1e-6);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx_" + name), 1e-6);
}

TEST_P(NonlinearityCases, HasTheGradientOfFiniteDifferences) {
  LayerRunner runner(layer, {DType::f64, {{{7, 1, 13, 5}, 7}}});
  runner.randomise(3);
  double* x = runner.input().only().x_FC.as<double>();
  for (std::int64_t i = 0; i < 26 * 7; ++i) x[i] *= 5;  // the bend, and both tails
  check_gradients(runner);
}

INSTANTIATE_TEST_SUITE_P(Kinds, NonlinearityCases,
                         testing::Values(NonlinearityCase{"gelu", NonlinearityKind::gelu},
                                         NonlinearityCase{"gelu_tanh", NonlinearityKind::gelu_tanh},
                                         NonlinearityCase{"silu", NonlinearityKind::silu}),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace penstock::layers
