#include "layers/nn/attention.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/key_value_cache.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;
using test::numbers;

const std::vector<std::int64_t> kAttended = {7, 1, 70, 5};  // 70: more than one tile
const std::vector<std::uint64_t> kAttendedUtterances = {4, 8, 15, 16};

struct AttentionCase {
  const char* golden;
  AttentionPositions positions = AttentionPositions::none;
  std::int64_t left = kWholeUtterance, right = kWholeUtterance;
  std::int64_t kv_heads = 0;
  double rotary_base = 10000;

  AttentionOptions options(std::int64_t channels, std::int64_t heads) const {
    return {.name = "att",
            .channels = channels,
            .heads = heads,
            .kv_heads = kv_heads,
            .positions = positions,
            .rotary_base = rotary_base,
            .left = left,
            .right = right,
            .left_positions = 9,
            .right_positions = 3};
  }
};

struct AttentionCases : testing::TestWithParam<AttentionCase> {
  /// Columns of q, k and v, for two heads of four channels.
  static std::int64_t columns() { return GetParam().kv_heads == 1 ? 16 : 24; }
};

TEST_P(AttentionCases, AgreesWithPyTorch) {
  const Golden golden(GetParam().golden);
  const Attention layer(GetParam().options(golden.shape("y")[1], 3));
  LayerRunner runner(layer, {DType::f32, {{golden.integers("lengths"), golden.shape("x")[1]}}});
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  const auto short_name = [](const ParamDecl& p) { return p.name.substr(4); };  // without "att."
  for (const ParamDecl& p : runner.plan().params) golden.copy(short_name(p), runner.param(p.name));
  runner.forward();
  runner.backward_input();
  if (!runner.params().empty()) runner.backward_weight();
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y"), 1e-5);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), 1e-4);
  for (const ParamDecl& p : runner.plan().params)
    EXPECT_LE(golden.error(runner.grad(p.name), "d" + short_name(p)), 1e-4) << p.name;
}

TEST_P(AttentionCases, HasTheGradientOfFiniteDifferences) {
  for (double dropped : {0.0, 0.3}) {
    AttentionOptions options = GetParam().options(8, 2);
    options.dropout = dropped;
    const Attention layer(options);
    LayerRunner runner(layer, {DType::f64, {{kAttended, columns()}}});
    runner.random.utterances = kAttendedUtterances;
    runner.randomise(3);
    check_gradients(runner);
  }
}

TEST_P(AttentionCases, AnUtteranceIgnoresItsNeighbours) {
  const Attention layer(GetParam().options(8, 2));
  LayerRunner packed(layer, {DType::f64, {{kAttended, columns()}}}),
      alone(layer, {DType::f64, {{{5}, columns()}}});
  packed.randomise(7);
  const std::vector<double> x = numbers(packed.input().only().x_FC);
  test::assign(alone.input().only().x_FC, {x.end() - 5 * columns(), x.end()});
  for (std::size_t i = 0; i < packed.params().size(); ++i)
    test::assign(alone.params()[i], numbers(packed.params()[i]));
  for (LayerRunner* runner : {&packed, &alone}) {
    runner->mode = Mode::evaluate;
    runner->forward();
  }
  const std::vector<double> y = numbers(packed.output().only().x_FC);
  EXPECT_LE(test::relative_error(numbers(alone.output().only().x_FC), {y.end() - 5 * 8, y.end()}),
            1e-12);
}

TEST_P(AttentionCases, EvaluatesAsItTrains) {
  const Attention layer(GetParam().options(8, 2));
  LayerRunner runner(layer, {DType::f32, {{kAttended, columns()}}});
  runner.randomise(7);
  runner.forward();
  const std::vector<double> trained = numbers(runner.output().only().x_FC);
  runner.mode = Mode::evaluate;
  runner.forward();
  EXPECT_EQ(numbers(runner.output().only().x_FC), trained);
}

TEST_P(AttentionCases, LeavesGradientsAloneWithoutFrames) {
  const Attention layer(GetParam().options(8, 2));
  LayerRunner runner(layer, {DType::f32, {{{}, columns()}}});
  runner.randomise(7);
  runner.forward();
  runner.backward_input();
  if (!runner.params().empty()) runner.backward_weight();
  for (const Tensor& gradient : runner.grads())
    EXPECT_EQ(numbers(gradient), std::vector<double>(static_cast<std::size_t>(gradient.size())));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, AttentionCases,
    testing::Values(AttentionCase{"attention"},
                    AttentionCase{"attention_rotary", AttentionPositions::rotary},
                    AttentionCase{"attention_band", AttentionPositions::none, 9, 3},
                    AttentionCase{"attention_causal", AttentionPositions::none, kWholeUtterance, 0},
                    AttentionCase{"attention_grouped", AttentionPositions::rotary, kWholeUtterance,
                                  0, 1, 500},
                    AttentionCase{"attention_relative", AttentionPositions::relative},
                    AttentionCase{"attention_relative_band", AttentionPositions::relative, 9, 3},
                    AttentionCase{"attention_shaw", AttentionPositions::shaw}),
    [](const auto& tested) { return tested.param.golden; });

// One vector for all distances adds the same to every score of a query: its softmax stays.
TEST(Attention, OfOneShawDistanceIsThatWithoutPositions) {
  const Attention plain({.name = "att", .channels = 8, .heads = 2});
  const Attention shaw({.name = "att",
                        .channels = 8,
                        .heads = 2,
                        .positions = AttentionPositions::shaw,
                        .left_positions = 0,
                        .right_positions = 0});
  LayerRunner expected(plain, {DType::f64, {{kAttended, 24}}}),
      found(shaw, {DType::f64, {{kAttended, 24}}});
  found.randomise(7);
  test::assign(expected.input().only().x_FC, numbers(found.input().only().x_FC));
  for (LayerRunner* runner : {&expected, &found}) runner->forward();
  EXPECT_EQ(found.plan().params.front().shape, (Shape{1, 4}));
  EXPECT_LE(test::relative_error(numbers(found.output().only().x_FC),
                                 numbers(expected.output().only().x_FC)),
            1e-12);
}

TEST(Attention, TellsTheNextFrameFromAllOthers) {
  const Attention layer({.name = "att",
                         .channels = 8,
                         .heads = 2,
                         .positions = AttentionPositions::shaw,
                         .left_positions = 0,
                         .right_positions = 1});
  LayerRunner runner(layer, {DType::f64, {{kAttended, 24}}});
  runner.randomise(3);
  check_gradients(runner);
}

// Another packing of the same utterance drops the same weights.
TEST(Attention, DropsByUtteranceFrameAndHead) {
  const Attention layer({.name = "att", .channels = 8, .heads = 2, .dropout = 0.4});
  LayerRunner packed(layer, {DType::f64, {{kAttended, 24}}}),
      alone(layer, {DType::f64, {{{5}, 24}}});
  packed.randomise(7);
  packed.random.utterances = kAttendedUtterances;
  alone.random.utterances = std::span(kAttendedUtterances).last(1);
  const std::vector<double> x = numbers(packed.input().only().x_FC);
  test::assign(alone.input().only().x_FC, {x.end() - 5 * 24, x.end()});
  packed.forward();
  alone.forward();
  const std::vector<double> y = numbers(packed.output().only().x_FC);
  EXPECT_LE(test::relative_error(numbers(alone.output().only().x_FC), {y.end() - 5 * 8, y.end()}),
            1e-12);
  packed.random.epoch = 1;
  packed.forward();
  EXPECT_NE(numbers(packed.output().only().x_FC), y);
}

TEST(Attention, KeepsNothingSquare) {
  for (const AttentionPositions positions :
       {AttentionPositions::none, AttentionPositions::rotary, AttentionPositions::relative,
        AttentionPositions::shaw})
    for (const DeviceKind device : {DeviceKind::cpu, DeviceKind::cuda}) {
      const Attention layer({.name = "att", .channels = 64, .heads = 4, .positions = positions});
      const auto bytes = [&](std::int64_t frames) {
        const LayerPlan plan = layer.plan({DType::f32, {{{frames}, 192}}}, {device, DType::f32});
        std::size_t total = plan.workspace.forward + plan.workspace.backward_input;
        for (const SavedDecl& s : plan.saved)
          if (s.kind == SavedDecl::Kind::own)
            total += static_cast<std::size_t>(element_count(s.shape)) * size_of(s.dtype);
        return static_cast<double>(total);
      };
      EXPECT_LE(bytes(6000) / bytes(3000), 2.001);  // 2T - 1 distances
    }
}

// Attention computes the same of windows as of utterances of their lengths.
TEST(Attention, SeesItsWindowAlone) {
  const Attention windows({.name = "att", .channels = 8, .heads = 2, .window = 3}),
      whole({.name = "att", .channels = 8, .heads = 2});
  LayerRunner cut(windows, {DType::f64, {{{7, 0, 3, 5}, 24}}}),
      apart(whole, {DType::f64, {{{3, 3, 1, 3, 3, 2}, 24}}}),
      together(whole, {DType::f64, {{{7, 0, 3, 5}, 24}}});
  cut.randomise(7);
  test::assign(apart.input().only().x_FC, numbers(cut.input().only().x_FC));
  cut.forward();
  apart.forward();
  EXPECT_EQ(numbers(cut.output().only().x_FC), numbers(apart.output().only().x_FC));
  EXPECT_LT(cut.plan().flops.forward, together.plan().flops.forward);
}

TEST(Attention, WindowsHaveTheGradientOfFiniteDifferences) {
  for (const double dropped : {0.0, 0.3}) {
    const Attention layer(
        {.name = "att", .channels = 8, .heads = 2, .dropout = dropped, .window = 3});
    LayerRunner runner(layer, {DType::f64, {{{7, 1, 3, 5}, 24}}});
    runner.random.utterances = kAttendedUtterances;
    runner.randomise(3);
    check_gradients(runner);
  }
}

// Two equal windows of an utterance drop other weights.
TEST(Attention, DropsByWindow) {
  const Attention layer({.name = "att", .channels = 8, .heads = 2, .dropout = 0.5, .window = 3});
  LayerRunner runner(layer, {DType::f64, {{{6}, 24}}});
  runner.randomise(3);
  runner.random.utterances = std::span(kAttendedUtterances).first(1);
  std::vector<double> x = numbers(runner.input().only().x_FC);
  std::copy_n(x.begin(), 3 * 24, x.begin() + 3 * 24);
  test::assign(runner.input().only().x_FC, x);
  runner.forward();
  const std::vector<double> y = numbers(runner.output().only().x_FC);
  EXPECT_FALSE(std::equal(y.begin(), y.begin() + 3 * 8, y.begin() + 3 * 8));
}

// Frames make the most windows if each utterance has one frame more than full windows.
TEST(Attention, PlansForTheMostWindowsPossible) {
  const Attention layer({.name = "att", .channels = 8, .heads = 2, .window = 3});
  const auto bytes = [&](const std::vector<std::int64_t>& lengths) {
    return layer.plan({DType::f32, {{lengths, 24}}}, {DeviceKind::cuda, DType::f32})
        .workspace.backward_input;
  };
  EXPECT_GE(bytes({3, 3, 3, 3, 3, 3}), bytes({1, 1, 1, 1, 1, 13}));
  EXPECT_GE(bytes({3, 3, 3, 3, 3, 3}), bytes({4, 4, 4, 4, 1, 1}));
}

TEST(Attention, RefusesWindowsWithPositions) {
  EXPECT_THROW(Attention({.name = "att", .channels = 8, .window = -1}), ShapeError);
  EXPECT_THROW(
      Attention(
          {.name = "att", .channels = 8, .positions = AttentionPositions::rotary, .window = 3}),
      ShapeError);
}

// A frame gives no weight at all to frames that it does not see.
TEST(Attention, FramesOutsideOfTheContextHaveNoSay) {
  const Attention layer({.name = "att", .channels = 8, .heads = 2, .left = 4, .right = 0});
  LayerRunner runner(layer, {DType::f32, {{{70}, 24}}});
  runner.randomise(7);
  runner.forward();
  const std::vector<double> before = numbers(runner.output().only().x_FC);
  float* last = runner.input().only().x_FC.as<float>() + 69 * 24;
  std::fill(last, last + 24, 1e30f);
  runner.forward();
  const std::vector<double> after = numbers(runner.output().only().x_FC);
  EXPECT_TRUE(std::equal(before.begin(), before.end() - 8, after.begin()));
  EXPECT_FALSE(std::equal(before.end() - 8, before.end(), after.end() - 8));
}

// Steps with a cache compute the rows of a whole utterance, in the memory that the plan states.
TEST(Attention, GoesOnWithACache) {
  const Attention layer({.name = "att",
                         .channels = 8,
                         .heads = 2,
                         .positions = AttentionPositions::rotary,
                         .left = 66,
                         .right = 0});
  LayerRunner whole(layer, {DType::f64, {{{70, 5}, 24}}});
  whole.randomise(7);
  whole.mode = Mode::evaluate;
  whole.forward();
  const std::vector<double> x = numbers(whole.input().only().x_FC);
  const std::vector<double> y = numbers(whole.output().only().x_FC);
  EXPECT_EQ(whole.plan().cache_channels, 8);
  const test::GuardedMemory keys(2 * 70 * 8 * sizeof(double)), values(2 * 70 * 8 * sizeof(double));
  std::vector<std::int64_t> past = {0, 0};
  for (const auto& lengths : {std::vector<std::int64_t>{67, 2}, {1, 0}, {2, 3}}) {
    const KeyValueCache cache{
        {keys.data(), DType::f64, {2, 70, 8}}, {values.data(), DType::f64, {2, 70, 8}}, past};
    LayerRunner step(layer, {DType::f64, {{lengths, 24}}});
    step.mode = Mode::evaluate;
    step.cache = &cache;
    const auto rows = [&](const std::vector<double>& all, std::int64_t channels) {
      std::vector<double> taken(all.begin() + past[0] * channels,
                                all.begin() + (past[0] + lengths[0]) * channels);
      const auto second = all.begin() + (70 + past[1]) * channels;
      taken.insert(taken.end(), second, second + lengths[1] * channels);
      return taken;
    };
    test::assign(step.input().only().x_FC, rows(x, 24));
    step.forward();
    EXPECT_LE(test::relative_error(numbers(step.output().only().x_FC), rows(y, 8)), 1e-12);
    for (std::size_t u = 0; u < 2; ++u) past[u] += lengths[u];
  }
}

TEST(Attention, WithoutAnEndTakesNoCache) {
  const test::GuardedMemory memory(70 * 8 * sizeof(float));
  const Tensor rows{memory.data(), DType::f32, {1, 70, 8}};
  const std::vector<std::int64_t> past = {0};
  const KeyValueCache cache{rows, rows, past};
  const Attention layer({.name = "att", .channels = 8, .heads = 2});
  LayerRunner runner(layer, {DType::f32, {{{5}, 24}}});
  runner.randomise(3);
  runner.mode = Mode::evaluate;
  runner.cache = &cache;
  EXPECT_THROW(runner.forward(), ShapeError);
}

TEST(Attention, NeedsARandomKeyForEachUtterance) {
  const Attention layer({.name = "att", .channels = 8, .heads = 2, .dropout = 0.1});
  LayerRunner runner(layer, {DType::f32, {{{5, 3}, 24}}});
  EXPECT_THROW(runner.forward(), ShapeError);
}

TEST(Attention, RejectsHeadsThatDoNotDivide) {
  EXPECT_THROW(Attention({.name = "att", .channels = 10, .heads = 4}), ShapeError);
  EXPECT_THROW(
      Attention(
          {.name = "att", .channels = 10, .heads = 2, .positions = AttentionPositions::rotary}),
      ShapeError);
  EXPECT_THROW(Attention({.name = "att",
                          .channels = 8,
                          .heads = 2,
                          .positions = AttentionPositions::rotary,
                          .rotary_base = 0}),
               ShapeError);
  EXPECT_THROW(Attention({.name = "att", .channels = 8, .heads = 2, .left = -1}), ShapeError);
  EXPECT_THROW(Attention({.name = "att", .channels = 8, .heads = 2, .right_positions = -1}),
               ShapeError);
  EXPECT_THROW(Attention({.name = "att", .channels = 8, .heads = 2, .dropout = 1}), ShapeError);
  const Attention layer({.name = "att", .channels = 8, .heads = 2});
  EXPECT_THROW(layer.plan({DType::f32, {{{5}, 8}}}, {}), ShapeError);
}

TEST(Attention, RejectsKeysThatCannotBeShared) {
  for (const std::int64_t kv_heads : {-1, 4, 12})
    EXPECT_THROW(Attention({.name = "att", .channels = 12, .heads = 6, .kv_heads = kv_heads}),
                 ShapeError);
  EXPECT_THROW(Attention({.name = "att",
                          .channels = 12,
                          .heads = 6,
                          .kv_heads = 3,
                          .positions = AttentionPositions::shaw}),
               ShapeError);
  const Attention layer({.name = "att", .channels = 12, .heads = 6, .kv_heads = 3});
  EXPECT_THROW(layer.plan({DType::f32, {{{5}, 36}}}, {}), ShapeError);
  EXPECT_EQ(layer.plan({DType::f32, {{{5}, 24}}}, {}).output.only().channels, 12);
}

}  // namespace
}  // namespace penstock::layers
