#include "layers/losses/attention_loss.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/error.h"
#include "tests/layers/losses/labels.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::LayerRunner;
using test::numbers;

const std::vector<std::int64_t> kAttentionMemories = {9, 1, 7};
const std::vector<std::int64_t> kAttentionRows = {6, 2, 3};  // of a prompt and bos, and of labels
const std::vector<std::vector<std::int32_t>> kAttentionTexts = {{1, 2, 2, 1}, {}, {4}};

struct AttentionLossPass {
  AttentionLossPass(double ctc_weight, DType dtype)
      : layer({.name = "out", .classes = 5, .width = 6, .eos = 3, .smoothing = 0.1, .bias = true},
              ctc_weight),
        labels(kAttentionTexts, 0.25),
        runner(layer, {dtype, {{kAttentionMemories, 5}, {kAttentionRows, 6}}, labels.counts()}) {
    labels.losses.assign(kAttentionMemories.size() * runner.plan().losses, NAN);
    labels.targets.losses = labels.losses;
    runner.targets = &labels.targets;
    runner.randomise(3);
  }
  void run() {
    runner.forward();
    runner.backward_input();
    runner.backward_weight();
  }

  AttentionLoss layer;
  Labels labels;
  LayerRunner runner;
};

TEST(AttentionLossTest, HasTheGradientOfFiniteDifferences) {
  for (const double ctc_weight : {0.0, 0.3}) {
    AttentionLossPass pass(ctc_weight, DType::f64);
    pass.labels.weights = {1, 0.5f, 1};
    check_gradients(pass.runner);
  }
}

TEST(AttentionLossTest, IsTheWeightedSumOfBothLosses) {
  AttentionLossPass both(0.25, DType::f64);
  both.run();
  const TokenCrossEntropy text(
      {.name = "out", .classes = 5, .width = 6, .eos = 3, .smoothing = 0.1, .bias = true});
  const Ctc ctc("ctc");
  Labels of_text(kAttentionTexts, 0.25), of_ctc(kAttentionTexts, 0.25);
  LayerRunner a(text, {DType::f64, {{kAttentionRows, 6}}, of_text.counts()}),
      b(ctc, {DType::f64, {{kAttentionMemories, 5}}, of_ctc.counts()});
  a.targets = &of_text.targets;
  b.targets = &of_ctc.targets;
  test::assign(a.input().only().x_FC, numbers(both.runner.input().frames[1].x_FC));
  test::assign(b.input().only().x_FC, numbers(both.runner.input().frames[0].x_FC));
  for (std::size_t i = 0; i < 2; ++i) test::assign(a.params()[i], numbers(both.runner.params()[i]));
  std::vector<double> expected, gradient;
  for (LayerRunner* const runner : {&a, &b}) {
    runner->forward();
    runner->backward_input();
  }
  for (const double loss : of_text.losses) expected.push_back(0.75 * loss);
  for (const double loss : of_ctc.losses) expected.push_back(0.25 * loss);
  EXPECT_LE(test::relative_error(both.labels.losses, expected), 1e-12);
  for (const double d : numbers(b.input_gradient().only().x_FC)) gradient.push_back(0.25 * d);
  EXPECT_LE(test::relative_error(numbers(both.runner.input_gradient().frames[0].x_FC), gradient),
            1e-12);
  gradient.clear();
  for (const double d : numbers(a.input_gradient().only().x_FC)) gradient.push_back(0.75 * d);
  EXPECT_LE(test::relative_error(numbers(both.runner.input_gradient().frames[1].x_FC), gradient),
            1e-12);
}

TEST(AttentionLossTest, WithoutCtcTheMemoryHasNoGradient) {
  AttentionLossPass pass(0, DType::f32);
  pass.run();
  const std::vector<double> memory = numbers(pass.runner.input_gradient().frames[0].x_FC);
  EXPECT_EQ(memory, std::vector<double>(memory.size()));
  EXPECT_EQ(pass.runner.plan().losses, 1u);
  const std::vector<double> in_training = pass.labels.losses;
  pass.runner.mode = Mode::evaluate;
  pass.runner.forward();
  EXPECT_EQ(pass.labels.losses, in_training);
}

TEST(AttentionLossTest, RejectsWhatIsNoLoss) {
  EXPECT_THROW(AttentionLoss({.name = "out", .classes = 5, .width = 6}, 1), ShapeError);
  EXPECT_THROW(AttentionLoss({.name = "out", .classes = 5, .width = 6}, -0.1), ShapeError);
  AttentionLossPass pass(0.3, DType::f32);
  pass.labels.targets.losses = pass.labels.targets.losses.first(3);
  EXPECT_THROW(pass.runner.forward(), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
