#include "layers/nn/lookahead.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;

struct LookaheadCases : testing::TestWithParam<const char*> {};

TEST_P(LookaheadCases, AgreesWithPyTorch) {
  const Golden golden(GetParam());
  const Shape weight = golden.shape("weight");
  const Lookahead layer({.name = "lookahead", .channels = weight[0], .context = weight[1]});
  LayerRunner runner(layer, {DType::f32, {{golden.integers("lengths"), weight[0]}}});
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  golden.copy("weight", runner.param("lookahead.weight"));
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y"), 1e-5);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), 1e-4);
  EXPECT_LE(golden.error(runner.grad("lookahead.weight"), "dweight"), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Contexts, LookaheadCases, testing::Values("lookahead", "lookahead_long"));

TEST(Lookahead, HasTheGradientOfFiniteDifferences) {
  const Lookahead layer({.name = "lookahead", .channels = 5, .context = 6});
  LayerRunner runner(layer, {DType::f64, {{{7, 1, 13, 5}, 5}}});
  runner.randomise(2);
  check_gradients(runner, {.step = 1e-3});  // linear: no error from a long step
}

TEST(Lookahead, RejectsOtherChannels) {
  const Lookahead layer({.name = "lookahead", .channels = 5});
  EXPECT_THROW(layer.plan({DType::f32, {{{3}, 6}}}, {}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
