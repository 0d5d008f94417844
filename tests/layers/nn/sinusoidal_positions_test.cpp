#include "layers/nn/sinusoidal_positions.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "layers/initialise.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::layers {
namespace {

using test::LayerRunner;
using test::numbers;

TEST(SinusoidalPositions, AgreeWithPyTorch) {
  const test::Golden golden("sinusoidal_positions");
  const std::int64_t channels = golden.shape("x")[1];  // odd
  const SinusoidalPositions layer("positions", {.scale = std::sqrt(channels)});
  LayerRunner runner(layer, {DType::f32, {{golden.integers("lengths"), channels}}});
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  runner.forward();
  runner.backward_input();
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y"), 1e-6);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), 1e-6);
}

TEST(SinusoidalPositions, HaveTheGradientOfFiniteDifferences) {
  const SinusoidalPositions layer("positions", {.scale = 2.5});
  LayerRunner runner(layer, {DType::f64, {{{7, 0, 1, 13}, 5}}});
  runner.randomise(2);
  check_gradients(runner);
}

// An hour at 25 frames a second: the angles of the last frames are as exact as FP64 allows.
TEST(SinusoidalPositions, AreExactFarFromTheFirstFrame) {
  const std::int64_t frames = 90000, channels = 4;
  const SinusoidalPositions layer("positions", {.scale = 0});
  LayerRunner runner(layer, {DType::f64, {{{frames}, channels}}});
  runner.randomise(2);
  runner.forward();
  const std::vector<double> y = numbers(runner.output().only().x_FC);
  for (const std::int64_t t : {0L, 1L, 89999L})
    for (std::int64_t c = 0; c < channels; ++c) {
      const double angle = static_cast<double>(t) * (c < 2 ? 1 : 0.01);
      EXPECT_NEAR(y[static_cast<std::size_t>(t * channels + c)],
                  c % 2 == 0 ? std::sin(angle) : std::cos(angle), 1e-10)
          << t << " " << c;
    }
}

TEST(SinusoidalPositions, DoNotDependOnNeighbours) {
  const SinusoidalPositions layer("positions", {.scale = 1.5});
  LayerRunner packed(layer, {DType::f32, {{{9, 4, 12}, 6}}}),
      alone(layer, {DType::f32, {{{4}, 6}}});
  packed.randomise(2);
  const std::vector<double> x = numbers(packed.input().only().x_FC);
  test::assign(alone.input().only().x_FC, {x.begin() + 9 * 6, x.begin() + 13 * 6});
  packed.forward();
  alone.forward();
  const std::vector<double> y = numbers(packed.output().only().x_FC);
  EXPECT_EQ(numbers(alone.output().only().x_FC),
            std::vector<double>(y.begin() + 9 * 6, y.begin() + 13 * 6));
}

// Row 3 of transformers' sinusoids(4, 6).
TEST(SinusoidalPositions, InHalvesAreWhispers) {
  const SinusoidalPositions layer("positions", {.scale = 0, .order = SinusoidOrder::halves});
  LayerRunner runner(layer, {DType::f64, {{{4}, 6}}});
  runner.randomise(2);
  runner.forward();
  const std::vector<double> y = numbers(runner.output().only().x_FC);
  const double row[] = {0.14112001, 0.02999550, 0.00030000, -0.98999250, 0.99955003, 0.99999996};
  for (std::size_t c = 0; c < 6; ++c) EXPECT_NEAR(y[18 + c], row[c], 1e-7) << c;
  EXPECT_EQ(y[3], 1);
}

// A new table has the numbers that are computed otherwise, and training never changes it.
TEST(SinusoidalPositions, AreStoredAsTheyAreComputed) {
  const SinusoidalPositions computed(
      "positions", {.scale = 1.5, .order = SinusoidOrder::halves, .max_frames = 31});
  const SinusoidalPositions stored(
      "positions",
      {.scale = 1.5, .order = SinusoidOrder::halves, .max_frames = 31, .stored = true});
  const ActivationDecl input{DType::f32, {{{31, 0, 4}, 6}}};
  LayerRunner ours(stored, input), theirs(computed, input);
  for (LayerRunner* runner : {&ours, &theirs}) runner->randomise(2);
  test::assign(ours.input().only().x_FC, numbers(theirs.input().only().x_FC));
  ASSERT_EQ(ours.plan().params.size(), 1);
  const ParamDecl& table = ours.plan().params[0];
  EXPECT_EQ(table.name, "positions.weight");
  EXPECT_EQ(table.shape, (Shape{31, 6}));
  EXPECT_TRUE(table.frozen());
  EXPECT_FALSE(table.summed);
  initialise(table, 3, ours.param("positions.weight"));
  for (LayerRunner* runner : {&ours, &theirs}) {
    runner->forward();
    runner->backward_input();
  }
  EXPECT_LE(test::relative_error(numbers(ours.output().only().x_FC),
                                 numbers(theirs.output().only().x_FC)),
            1e-6);
  EXPECT_EQ(numbers(ours.input_gradient().only().x_FC),
            numbers(theirs.input_gradient().only().x_FC));
  Tensor part{ours.param("positions.weight")};
  const std::vector<double> whole = numbers(part);
  part.data = part.as<float>() + 67;
  part.shape = {51};
  initialise(table, 3, part, 67);
  EXPECT_EQ(numbers(ours.param("positions.weight")), whole);
}

TEST(SinusoidalPositions, BeginAnewAfterAPeriod) {
  const SinusoidalPositions layer("positions",
                                  {.scale = 0, .order = SinusoidOrder::halves, .period = 3});
  LayerRunner runner(layer, {DType::f64, {{{7, 2}, 6}}});
  runner.randomise(2);
  runner.forward();
  const std::vector<double> y = numbers(runner.output().only().x_FC);
  const auto row = [&](int r) { return std::vector(y.begin() + 6 * r, y.begin() + 6 * (r + 1)); };
  const int first[] = {0, 1, 2, 0, 1, 2, 0, 0, 1};
  for (int r = 0; r < 9; ++r) EXPECT_EQ(row(r), row(first[r])) << r;
  EXPECT_NE(row(1), row(2));
}

TEST(SinusoidalPositions, EndAfterTheirLastFrame) {
  const SinusoidalPositions layer("positions", {.order = SinusoidOrder::halves, .max_frames = 9});
  EXPECT_NO_THROW((void)layer.plan({DType::f32, {{{9, 4}, 6}}}, {}));
  EXPECT_EQ(test::message_of<ShapeError>([&] {
              (void)layer.plan({DType::f32, {{{9, 10}, 6}}}, {});
            }),
            "'positions': an utterance has 10 frames, but there are positions for 9: set "
            "data.max_seconds, or cut longer recordings");
  for (const std::int64_t channels : {2, 7})
    EXPECT_THROW((void)layer.plan({DType::f32, {{{4}, channels}}}, {}), ShapeError);
}

// One table for the longest utterance, in what activations are computed in, and nothing is kept.
TEST(SinusoidalPositions, TakeOneTableOfScratch) {
  const SinusoidalPositions layer("positions", {.scale = 1.5});
  const LayerPlan plan = layer.plan({DType::bf16, {{{9, 4, 12}, 6}}}, {});
  EXPECT_EQ(plan.workspace.forward, aligned(12 * 6 * sizeof(float)));
  EXPECT_EQ(plan.workspace.backward_input, 0);
  EXPECT_TRUE(plan.saved.empty());
  EXPECT_TRUE(plan.params.empty());
}

}  // namespace
}  // namespace penstock::layers
