#include "layers/nn/head_norm.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/nn/layer_norm.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::LayerRunner;
using test::numbers;

// Three heads of q, one of k and v, five channels each.
HeadNormOptions grouped() {
  return {.name = "norm", .heads = 3, .kv_heads = 1, .head_channels = 5, .epsilon = 1e-3};
}

TEST(HeadNorm, HasTheGradientOfFiniteDifferences) {
  for (const std::int64_t kv_heads : {1, 3}) {
    HeadNormOptions options = grouped();
    options.kv_heads = kv_heads;
    const HeadNorm layer(options);
    LayerRunner runner(layer, {DType::f64, {{{7, 1, 13}, (3 + 2 * kv_heads) * 5}}});
    runner.randomise(11);
    check_gradients(runner);
  }
}

// Each head equals RMSNorm of its columns alone.
TEST(HeadNorm, IsRmsNormOfEachHead) {
  const HeadNorm layer(grouped());
  LayerRunner runner(layer, {DType::f64, {{{4, 2}, 25}}});
  runner.randomise(5);
  runner.forward();
  const std::vector<double> x = numbers(runner.input().only().x_FC);
  const std::vector<double> y = numbers(runner.output().only().x_FC);
  const LayerNorm rms(
      {.name = "rms", .channels = 5, .epsilon = 1e-3, .centred = false, .bias = false});
  for (int frame = 0; frame < 6; ++frame)
    for (int head = 0; head < 5; ++head) {
      const auto part = [&](const std::vector<double>& of) {
        const auto first = of.begin() + frame * 25 + head * 5;
        return std::vector<double>(first, first + 5);
      };
      if (head == 4) {  // v
        EXPECT_EQ(part(y), part(x));
        continue;
      }
      LayerRunner alone(rms, {DType::f64, {{{1}, 5}}});
      test::assign(alone.input().only().x_FC, part(x));
      test::assign(alone.param("rms.weight"), numbers(runner.params()[head < 3 ? 0 : 1]));
      alone.forward();
      EXPECT_EQ(numbers(alone.output().only().x_FC), part(y)) << frame << " " << head;
    }
}

TEST(HeadNorm, EvaluatesAsItTrains) {
  const HeadNorm layer(grouped());
  LayerRunner runner(layer, {DType::f32, {{{7, 1}, 25}}});
  runner.randomise(7);
  runner.forward();
  const std::vector<double> trained = numbers(runner.output().only().x_FC);
  runner.mode = Mode::evaluate;
  runner.forward();
  EXPECT_EQ(numbers(runner.output().only().x_FC), trained);
}

TEST(HeadNorm, LeavesGradientsAloneWithoutFrames) {
  const HeadNorm layer(grouped());
  LayerRunner runner(layer, {DType::f32, {{{}, 25}}});
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  EXPECT_EQ(numbers(runner.grad("norm.k.weight")), std::vector<double>(5));
}

TEST(HeadNorm, RejectsColumnsThatAreNotItsHeads) {
  const HeadNorm layer(grouped());
  EXPECT_THROW(layer.plan({DType::f32, {{{5}, 24}}}, {}), ShapeError);
  EXPECT_THROW(HeadNorm({.name = "norm", .heads = 3, .kv_heads = 0, .head_channels = 5}),
               ShapeError);
  EXPECT_THROW(HeadNorm({.name = "norm", .heads = 3, .kv_heads = 1}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
