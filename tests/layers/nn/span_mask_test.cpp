#include "layers/nn/span_mask.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "layers/models/rated_layer.h"
#include "tests/support/layers/gradient_check.h"
#include "tests/support/layers/layer_runner.h"

namespace penstock::layers {
namespace {

using Places = std::vector<std::int64_t>;

PhiloxStream stream_of(std::uint64_t number) {
  return philox_stream(7, {1, 2, low_word(number), high_word(number)});
}

std::size_t count(const SpanRule& rule, std::int64_t size, std::uint64_t number = 0) {
  return draw_spans(rule, size, stream_of(number), 0).size();
}

TEST(Spans, AreDifferentPlacesWithinTheAxis) {
  for (std::uint64_t number = 0; number < 200; ++number) {
    const Places starts = draw_spans({.share = 0.65, .length = 3}, 29, stream_of(number), 0);
    EXPECT_EQ(std::set(starts.begin(), starts.end()).size(), starts.size());
    for (const std::int64_t start : starts) {
      EXPECT_GE(start, 0);
      EXPECT_LE(start + 3, 29);
    }
  }
}

// transformers: int(prob · length / mask_length + epsilon), at least min_masks, at most as many as
// fit one after the other.
TEST(Spans, AreAsManyAsTransformersHas) {
  EXPECT_EQ(count({.share = 0.5, .length = 5}, 100), 10U);
  EXPECT_EQ(count({.share = 0.05, .length = 10, .least = 2}, 60), 2U);
  EXPECT_EQ(count({.share = 1, .length = 10}, 39), 3U);
  EXPECT_EQ(count({.share = 0.01, .length = 10, .least = 9}, 39), 3U);
  EXPECT_EQ(count({.share = 0.9, .length = 10, .least = 2}, 9), 0U);
  EXPECT_EQ(count({.share = 0.9, .length = 10, .least = 2}, 10), 1U);
  EXPECT_EQ(count({.share = 0, .length = 1, .least = 2}, 100), 0U);
}

// 0.3 · 31 / 4 = 2.325 spans in the mean.
TEST(Spans, RoundTheirNumberWithoutBias) {
  const int draws = 4001;
  std::set<std::size_t> seen;
  double sum = 0;
  for (int i = 0; i < draws; ++i) {
    const std::size_t spans = count({.share = 0.3, .length = 4}, 31, static_cast<std::uint64_t>(i));
    seen.insert(spans);
    sum += static_cast<double>(spans);
  }
  EXPECT_EQ(seen, (std::set<std::size_t>{2, 3}));
  EXPECT_NEAR(sum / draws, 2.325, 5 * std::sqrt(0.325 * 0.675 / draws));
}

// Each of 13 places begins a span equally often, by Pearson's test at 5 deviations.
TEST(Spans, BeginEverywhereEquallyOften) {
  std::vector<double> found(13);
  double all = 0;
  for (std::uint64_t number = 0; number < 3001; ++number)
    for (const std::int64_t start :
         draw_spans({.share = 0.6, .length = 3}, 15, stream_of(number), 1)) {
      ++found[static_cast<std::size_t>(start)];
      ++all;
    }
  double distance = 0;
  for (const double count : found) distance += std::pow(count - all / 13, 2) / (all / 13);
  EXPECT_LT(distance, 12 + 5 * std::sqrt(2.0 * 12));
}

const SpanMaskOptions kBoth{.time = {.share = 0.5, .length = 2, .least = 1},
                            .features = {.share = 0.4, .length = 2, .least = 1}};

struct SpanMaskOf : testing::Test {
  test::LayerRunner runner(const SpanMaskLayer& layer, Places lengths, DType dtype = DType::f64) {
    test::LayerRunner made(layer, {dtype, {{std::move(lengths), 7}}});
    made.randomise(3);
    return made;
  }
  /// The output's numbers, frame by frame.
  static std::vector<double> output(test::LayerRunner& of) {
    of.forward();
    return test::numbers(of.output().only().x_FC);
  }

  const std::vector<std::uint64_t> utterances = {5, 1ULL << 40, 0, 77};
};

TEST_F(SpanMaskOf, HasTheGradientOfFiniteDifferences) {
  for (const bool channels : {false, true}) {
    SpanMaskOptions options = kBoth;
    if (!channels) options.features = {};
    const SpanMaskLayer layer("mask", 7, options);
    test::LayerRunner checked = runner(layer, {7, 1, 13, 5});
    checked.random = {.seed = 11, .epoch = 3, .utterances = utterances};
    check_gradients(checked);
  }
}

TEST_F(SpanMaskOf, ReplacesFramesAndThenChannels) {
  const SpanMaskLayer layer("mask", 7, kBoth);
  test::LayerRunner masked = runner(layer, {7, 1, 13, 5});
  masked.random = {.seed = 11, .epoch = 3, .utterances = utterances};
  const std::vector<double> y = output(masked);
  const std::vector<double> x = test::numbers(masked.input().only().x_FC);
  const std::vector<double> embedding = test::numbers(masked.param("mask.embedding"));
  std::set<std::string> seen;
  for (std::size_t i = 0; i < y.size(); ++i)
    seen.insert(y[i] == 0 ? "0" : y[i] == x[i] ? "x" : y[i] == embedding[i % 7] ? "e" : "other");
  EXPECT_EQ(seen, (std::set<std::string>{"0", "e", "x"}));
  for (std::size_t c = 0; c < 7; ++c)  // one frame is shorter than a span
    EXPECT_TRUE(y[49 + c] == x[49 + c] || y[49 + c] == 0);
}

TEST_F(SpanMaskOf, AnUtteranceIsTheSameInAnyPacking) {
  const SpanMaskLayer layer("mask", 7, kBoth);
  test::LayerRunner together = runner(layer, {7, 13});
  const std::vector<std::uint64_t> both = {5, 9}, second = {9};
  together.random = {.seed = 11, .epoch = 3, .utterances = both};
  const std::vector<double> y = output(together);
  test::LayerRunner alone = runner(layer, {13});
  const std::vector<double> x = test::numbers(together.input().only().x_FC);
  test::assign(alone.input().only().x_FC, std::span(x).subspan(49));
  test::assign(alone.param("mask.embedding"), test::numbers(together.param("mask.embedding")));
  alone.random = {.seed = 11, .epoch = 3, .utterances = second};
  EXPECT_EQ(output(alone), std::vector(y.begin() + 49, y.end()));
  alone.random.epoch = 4;
  EXPECT_NE(output(alone), std::vector(y.begin() + 49, y.end()));
}

// A frozen vector has no gradient, and its layer still passes that of the frames on.
TEST_F(SpanMaskOf, PassesGradientsOnWhileFrozen) {
  const auto run = [&](double rate) {
    const RatedLayer layer(std::make_unique<SpanMaskLayer>("mask", 7, kBoth), {{rate}, true});
    test::LayerRunner rated(layer, {DType::f64, {{{7, 13}, 7}}});
    rated.randomise(3);
    const std::vector<std::uint64_t> two = {5, 9};
    rated.random = {.seed = 11, .epoch = 3, .utterances = two};
    rated.forward();
    rated.backward_input();
    if (rate > 0) rated.backward_weight();
    return test::numbers(rated.input_gradient().only().x_FC);
  };
  EXPECT_EQ(run(0), run(1));
}

TEST_F(SpanMaskOf, CopiesInEvaluationAndIfTold) {
  SpanMaskOptions off = kBoth;
  off.apply = false;
  for (const bool evaluation : {true, false}) {
    const SpanMaskLayer layer("mask", 7, evaluation ? kBoth : off);
    test::LayerRunner copied = runner(layer, {7, 1, 13, 5});
    copied.random = {.seed = 11, .epoch = 3, .utterances = utterances};
    if (evaluation) copied.mode = Mode::evaluate;
    EXPECT_EQ(output(copied), test::numbers(copied.input().only().x_FC));
  }
}

TEST_F(SpanMaskOf, RejectsWhatItCantDo) {
  EXPECT_THROW(SpanMaskLayer("mask", 7, {.time = {.share = 1.5}}), ShapeError);
  EXPECT_THROW(SpanMaskLayer("mask", 7, {.features = {.length = 0}}), ShapeError);
  EXPECT_THROW(SpanMaskLayer("mask", 7, {.features = {.least = -1}}), ShapeError);
  const SpanMaskLayer layer("mask", 7, kBoth);
  EXPECT_THROW((void)layer.plan({DType::f32, {{{5}, 8}}}, {}), ShapeError);
  test::LayerRunner unkeyed = runner(layer, {7, 1});
  EXPECT_THROW(unkeyed.forward(), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
