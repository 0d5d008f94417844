#include "layers/losses/ctc.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "layers/ops/ctc.h"
#include "tests/layers/losses/labels.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;
using test::numbers;
using test::relative_error;

struct CtcTypes : testing::TestWithParam<DType> {};

TEST_P(CtcTypes, AgreesWithPyTorch) {
  const Golden golden("ctc");
  const Ctc layer("ctc");
  Labels labels(labels_of(golden), 1.0 / 7);
  LayerRunner runner(layer, {GetParam(), {{golden.integers("lengths"), 7}}});
  runner.targets = &labels.targets;
  golden.copy("logits", runner.input().only().x_FC);
  runner.forward();
  runner.backward_input();
  const bool wide = GetParam() == DType::f64;
  EXPECT_LE(relative_error(labels.losses, golden["losses"]), wide ? 1e-13 : 1e-6);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dlogits"), wide ? 1e-12 : 1e-5);

  const std::vector<double> in_training = labels.losses;
  runner.mode = Mode::evaluate;
  runner.forward();
  EXPECT_EQ(labels.losses, in_training);
}

INSTANTIATE_TEST_SUITE_P(Types, CtcTypes, testing::Values(DType::f32, DType::f64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(Ctc, HasTheGradientOfFiniteDifferences) {
  const Ctc layer("ctc");
  Labels labels({{1, 2, 2, 1}, {}, {3, 3, 1, 2, 2, 1, 3, 1}, {2, 1, 3, 1, 2}}, 0.25);
  labels.weights[2] = 0.5f;
  LayerRunner runner(layer, {DType::f64, {{{7, 1, 13, 5}, 4}}});
  runner.targets = &labels.targets;
  runner.randomise(4);
  check_gradients(runner);
}

TEST(Ctc, HasTheGradientOfFiniteDifferencesWithSmoothing) {
  const Ctc layer("ctc", 0.3);
  Labels labels({{1, 2, 2, 1}, {}, {3, 3, 1, 2, 2, 1, 3, 1}, {2, 1, 3, 1, 2, 2}}, 0.25);
  labels.weights[2] = 0.5f;
  LayerRunner runner(layer, {DType::f64, {{{7, 1, 13, 5}, 4}}});  // the last lacks a frame
  runner.targets = &labels.targets;
  runner.randomise(4);
  check_gradients(runner);
}

TEST(Ctc, SmoothingMixesItWithUniformLabels) {
  const Ctc plain("ctc"), smoothed("ctc", 0.25);
  std::vector<double> losses;
  for (const Ctc* layer : {&plain, &smoothed}) {
    Labels labels({{1, 2}}, 1);
    LayerRunner runner(*layer, {DType::f64, {{{5}, 3}}});
    runner.targets = &labels.targets;
    runner.randomise(4);
    runner.forward();
    losses.push_back(labels.losses[0]);
    if (layer == &plain) continue;
    const double* x = runner.input().only().x_FC.as<double>();
    double uniform = 0;
    for (int t = 0; t < 5; ++t, x += 3)
      uniform +=
          std::log(std::exp(x[0]) + std::exp(x[1]) + std::exp(x[2])) - (x[0] + x[1] + x[2]) / 3;
    EXPECT_NEAR(losses[1], 0.75 * losses[0] + 0.25 * uniform, 1e-12);
  }
}

TEST(Ctc, RejectsSmoothingThatIsNoShare) {
  for (const double smoothing : {-0.1, 1.0, std::nan("")})
    EXPECT_THROW(Ctc("ctc", smoothing), ShapeError) << smoothing;
}

// Every path of 4 frames over 3 classes, collapsed by hand.
TEST(Ctc, IsTheSumOverAllPaths) {
  const Ctc layer("ctc");
  const std::vector<std::int32_t> wanted = {2, 1};
  Labels labels({wanted}, 1);
  LayerRunner runner(layer, {DType::f64, {{{4}, 3}}});
  runner.targets = &labels.targets;
  runner.randomise(8);
  runner.forward();

  const double* logits = runner.input().only().x_FC.as<double>();
  double all = 0, right = 0;
  for (int path = 0; path < 81; ++path) {
    std::vector<std::int32_t> collapsed;
    double score = 0;
    for (int t = 0, code = path, last = 0; t < 4; ++t, code /= 3) {
      const int symbol = code % 3;
      score += logits[t * 3 + symbol];
      if (symbol != 0 && symbol != last) collapsed.push_back(symbol);
      last = symbol;
    }
    all += std::exp(score);
    if (collapsed == wanted) right += std::exp(score);
  }
  EXPECT_NEAR(labels.losses[0], std::log(all / right), 1e-13);
}

TEST(Ctc, IsZeroForReplacedAudioAndMissingFrames) {
  const Ctc layer("ctc");
  Labels labels({{1, 2}, {1, 1}, {}}, 1);
  labels.weights[0] = 0;
  LayerRunner runner(layer, {DType::f32, {{{3, 2, 0}, 4}}});
  runner.targets = &labels.targets;
  runner.randomise(1);
  runner.forward();
  runner.backward_input();
  EXPECT_EQ(labels.losses, (std::vector<double>{0, 0, 0}));
  for (double gradient : numbers(runner.input_gradient().only().x_FC)) EXPECT_EQ(gradient, 0);
}

TEST(Ctc, StaysExactOverAThousandFrames) {
  const Ctc layer("ctc");
  std::vector<std::int32_t> text;
  for (int i = 0; i < 301; ++i) text.push_back(1 + i * i % 4);
  std::vector<double> losses, gradients[2];
  for (DType dtype : {DType::f32, DType::f64}) {
    Labels labels({text}, 1);
    LayerRunner runner(layer, {dtype, {{{1001}, 5}}});
    runner.targets = &labels.targets;
    test::assign(runner.input().only().x_FC, test::uniform(5005, 6, -8, 8));
    runner.forward();
    runner.backward_input();
    losses.push_back(labels.losses[0]);
    gradients[dtype == DType::f64] = numbers(runner.input_gradient().only().x_FC);
  }
  EXPECT_NEAR(losses[0] / losses[1], 1, 1e-6);
  EXPECT_LE(relative_error(gradients[0], gradients[1]), 1e-4);
}

TEST(Ctc, CountsTheFramesThatLabelsNeed) {
  EXPECT_EQ(ctc_frames_needed({}), 0);
  EXPECT_EQ(ctc_frames_needed(std::vector<std::int32_t>{1, 1, 1}), 5);
  EXPECT_EQ(ctc_frames_needed(std::vector<std::int32_t>{1, 2, 1}), 3);
}

// 2 L (N - L) + N states a pass, L = N / 5: labels come as speech has them.
TEST(Ctc, PlansForAsManyLabelsAsSpeechHas) {
  const LayerPlan plan = Ctc("ctc").plan({DType::f32, {{{1000, 10}, 7}}}, {});
  const double states = 2.0 * 200 * 800 + 1000 + 2.0 * 2 * 8 + 10;
  EXPECT_DOUBLE_EQ(plan.flops.forward, 30.0 * 1010 * 7 + 30 * states);
  EXPECT_DOUBLE_EQ(plan.flops.backward_input, 30 * states);
}

TEST(Ctc, HasTheWorkOfKnownLabels) {
  const ActivationDecl input{DType::f32, {{{1000, 10}, 7}}, {300, 20}};
  const double states = 2.0 * 300 * 700 + 1000 + 10;  // 20 labels don't fit 10 frames
  const Flops flops = Ctc("ctc").plan(input, {}).flops;
  EXPECT_DOUBLE_EQ(flops.forward, 30.0 * 1010 * 7 + 30 * states);
  EXPECT_DOUBLE_EQ(flops.backward_input, 30 * states);
  EXPECT_THROW((void)Ctc("ctc").plan({DType::f32, {{{1000, 10}, 7}}, {300}}, {}), ShapeError);
}

TEST(Ctc, RejectsLabelsThatAreNoClasses) {
  const Ctc layer("ctc");
  for (std::int32_t label : {0, 4, -1}) {
    Labels labels({{label}}, 1);
    LayerRunner runner(layer, {DType::f32, {{{3}, 4}}});
    runner.randomise(1);
    EXPECT_THROW(runner.forward(), ShapeError) << "no labels at all";
    runner.targets = &labels.targets;
    EXPECT_THROW(runner.forward(), ShapeError) << label;
  }
}

// Greedy labels of frames of 3 channels whose best label is given.
std::vector<std::int32_t> decode(const std::vector<std::int32_t>& path) {
  std::vector<float> logits_FC;
  for (const std::int32_t label : path)
    for (std::int32_t channel = 0; channel < 3; ++channel)
      logits_FC.push_back(channel == label ? -0.5f : -2.0f - static_cast<float>(channel));
  return ctc_greedy_labels(logits_FC, 3, 3);
}

TEST(CtcGreedy, CollapsesRepeatsThenDropsBlanks) {
  EXPECT_EQ(decode({0, 1, 1, 0, 1, 2, 2, 0}), (std::vector<std::int32_t>{1, 1, 2}));
  EXPECT_EQ(decode({2, 2, 2}), std::vector<std::int32_t>{2});
  EXPECT_EQ(decode({0, 0}), std::vector<std::int32_t>{});
  EXPECT_EQ(decode({}), std::vector<std::int32_t>{});
}

TEST(CtcGreedy, TakesTheLowerOfEqualLabels) {
  EXPECT_EQ(ctc_greedy_labels(std::vector<float>{-1, 3, 3}, 3, 3), std::vector<std::int32_t>{1});
}

TEST(CtcGreedy, LooksAtNoChannelBeyondTheLabels) {
  const std::vector<float> logits_FC = {0, 1, 2, 3, 1, 2, 0, 9, 0, 1, 5, 7};
  EXPECT_EQ(ctc_greedy_labels(logits_FC, 4, 3), (std::vector<std::int32_t>{2, 1, 2}));
  EXPECT_THROW((void)ctc_greedy_labels(logits_FC, 4, 5), ShapeError);
  EXPECT_THROW((void)ctc_greedy_labels(logits_FC, 4, 0), ShapeError);
}

TEST(CtcGreedy, RejectsHalfAFrame) {
  EXPECT_THROW((void)ctc_greedy_labels(std::vector<float>(7), 3, 3), ShapeError);
  EXPECT_THROW((void)ctc_greedy_labels({}, 0, 0), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
