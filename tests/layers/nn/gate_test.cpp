#include "layers/nn/gate.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;

struct GateCase {
  const char* name;
  GateKind kind;
};

struct GateCases : testing::TestWithParam<GateCase> {
  const Gate layer{"gate", GetParam().kind};
};

TEST_P(GateCases, AgreesWithPyTorch) {
  const Golden golden("gate");
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

TEST_P(GateCases, HasTheGradientOfFiniteDifferences) {
  LayerRunner runner(layer, {DType::f64, {{{7, 1, 13, 5}, 10}}});
  runner.randomise(3);
  check_gradients(runner);
}

INSTANTIATE_TEST_SUITE_P(Kinds, GateCases,
                         testing::Values(GateCase{"glu", GateKind::glu},
                                         GateCase{"swiglu", GateKind::swiglu}),
                         [](const auto& tested) { return tested.param.name; });

TEST(Gate, RejectsAnOddNumberOfChannels) {
  const Gate layer("gate", GateKind::glu);
  EXPECT_THROW(layer.plan({DType::f32, {{{5}, 13}}}, {}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
