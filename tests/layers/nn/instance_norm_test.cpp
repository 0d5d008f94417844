#include "layers/nn/instance_norm.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;
using test::numbers;

InstanceNorm norm_of(std::int64_t channels) {
  return InstanceNorm({.name = "norm", .channels = channels});
}

void expect_golden(DType dtype, double tolerance) {
  const Golden golden("instance_norm");
  const std::int64_t channels = golden.shape("x")[1];
  const InstanceNorm norm = norm_of(channels);
  LayerRunner runner(norm, {dtype, {{golden.integers("lengths"), channels}}});
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  golden.copy("weight", runner.param("norm.weight"));
  golden.copy("bias", runner.param("norm.bias"));
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y"), tolerance);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), 10 * tolerance);
  EXPECT_LE(golden.error(runner.grad("norm.weight"), "dweight"), tolerance);
  EXPECT_LE(golden.error(runner.grad("norm.bias"), "dbias"), tolerance);
  runner.mode = Mode::evaluate;
  runner.forward();
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y"), tolerance) << "in evaluation";
}

TEST(InstanceNorm, AgreesWithPyTorchInFP32) { expect_golden(DType::f32, 1e-5); }

TEST(InstanceNorm, AgreesWithPyTorchInFP64) { expect_golden(DType::f64, 1e-6); }

TEST(InstanceNorm, HasTheGradientOfFiniteDifferences) {
  const InstanceNorm norm = norm_of(7);
  LayerRunner runner(norm, {DType::f64, {{{7, 0, 1, 13, 5}, 7}}});
  runner.randomise(11);
  check_gradients(runner);
}

// To the bit: an utterance's sums are its own.
TEST(InstanceNorm, AnUtteranceIgnoresItsNeighbours) {
  const InstanceNorm norm = norm_of(19);
  LayerRunner packed(norm, {DType::f32, {{{3, 29}, 19}}});
  packed.randomise(5);
  LayerRunner alone(norm, {DType::f32, {{{29}, 19}}});
  const auto second = [](const Activation& packed_rows) {
    const std::vector<double> all = numbers(packed_rows.only().x_FC);
    return std::vector<double>(all.begin() + 3 * 19, all.end());
  };
  test::assign(alone.input().only().x_FC, second(packed.input()));
  test::assign(alone.output_gradient().only().x_FC, second(packed.output_gradient()));
  for (std::size_t i = 0; i < packed.params().size(); ++i)
    test::assign(alone.params()[i], numbers(packed.params()[i]));
  for (LayerRunner* runner : {&packed, &alone}) {
    runner->forward();
    runner->backward_input();
  }
  EXPECT_EQ(numbers(alone.output().only().x_FC), second(packed.output()));
  EXPECT_EQ(numbers(alone.input_gradient().only().x_FC), second(packed.input_gradient()));
}

TEST(InstanceNorm, MakesOneFrameItsBias) {
  const InstanceNorm norm = norm_of(2);
  LayerRunner runner(norm, {DType::f32, {{{1}, 2}}});
  runner.randomise(3);
  runner.forward();
  EXPECT_EQ(numbers(runner.output().only().x_FC), numbers(runner.param("norm.bias")));
}

TEST(InstanceNorm, HasNoGradientsWithoutUtterances) {
  const InstanceNorm norm = norm_of(2);
  LayerRunner runner(norm, {DType::f32, {{{}, 2}}});
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  EXPECT_EQ(numbers(runner.grad("norm.weight")), (std::vector<double>{0, 0}));
}

TEST(InstanceNorm, RejectsOtherChannels) {
  EXPECT_THROW(norm_of(4).plan({DType::f32, {{{5}, 3}}}, {}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
