#include "layers/losses/intermediate_ctc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "layers/losses/ctc.h"
#include "tests/layers/losses/labels.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::LayerRunner;
using test::numbers;

constexpr std::int64_t kIntermediateClasses = 4;

IntermediateCtc passing(double weight = 0.375) {
  return IntermediateCtc(
      {.name = "ctc", .classes = kIntermediateClasses, .zeros = 6, .weight = weight});
}

IntermediateCtc conditioning(double weight = 0.375) {
  return IntermediateCtc({.name = "ctc", .classes = kIntermediateClasses, .weight = weight});
}

/// A training pass over four utterances, one of which counts half, and one without enough frames.
struct IntermediatePass {
  explicit IntermediatePass(const Layer& layer, DType dtype = DType::f64)
      : labels({{1, 2, 2, 1}, {}, {3, 3, 1, 2, 2}, {2, 1, 3, 1, 2, 2}}, 0.25),
        runner(layer, {dtype, {{{7, 1, 13, 5}, kIntermediateClasses}}, labels.counts()}) {
    labels.weights[2] = 0.5f;
    runner.targets = &labels.targets;
    runner.randomise(4);
  }
  void run() {
    runner.forward();
    runner.backward_input();
  }
  std::vector<double> y() { return numbers(runner.output().only().x_FC); }
  std::vector<double> dx() { return numbers(runner.input_gradient().only().x_FC); }

  Labels labels;
  LayerRunner runner;
};

TEST(IntermediateCtc, HasTheGradientOfFiniteDifferences) {
  for (const IntermediateCtc& layer : {passing(), conditioning()}) {
    IntermediatePass pass(layer);
    check_gradients(pass.runner);
  }
}

TEST(IntermediateCtc, WeighsTheLossOfCtc) {
  const Ctc whole("ctc");
  const IntermediateCtc part = passing();
  IntermediatePass all(whole), some(part);
  all.run();
  some.run();
  for (std::size_t u = 0; u < 4; ++u)
    EXPECT_DOUBLE_EQ(some.labels.losses[u], 0.375 * all.labels.losses[u]) << u;
  const std::vector<double> wanted = all.dx(), found = some.dx();
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], 0.375 * wanted[i], 1e-15);
}

// The gradient reaches the logits through the posteriors alone.
TEST(IntermediateCtc, WithoutWeightIsASoftmax) {
  const IntermediateCtc without = conditioning(0), with = conditioning(1);
  IntermediatePass plain(without), trained(with);
  plain.run();
  trained.run();
  EXPECT_EQ(plain.y(), trained.y());
  EXPECT_EQ(plain.labels.losses, (std::vector<double>{0, 0, 0, 0}));
  const std::vector<double> y = plain.y();
  for (std::size_t f = 0; f < y.size(); f += kIntermediateClasses)
    EXPECT_NEAR(std::accumulate(y.begin() + f, y.begin() + f + kIntermediateClasses, 0.0), 1,
                1e-14);
  EXPECT_NE(plain.dx(), trained.dx());
}

TEST(IntermediateCtc, PassesZerosOn) {
  const IntermediateCtc layer = passing();
  IntermediatePass pass(layer);
  pass.run();
  EXPECT_EQ(pass.y(), std::vector<double>(26 * 6, 0));
}

TEST(IntermediateCtc, NeedsLabelsInTrainingAlone) {
  for (const IntermediateCtc& layer : {passing(), conditioning()}) {
    IntermediatePass pass(layer);
    pass.runner.forward();
    const std::vector<double> in_training = pass.y();
    pass.runner.targets = nullptr;
    EXPECT_THROW(pass.runner.forward(), ShapeError);
    pass.runner.mode = Mode::evaluate;
    pass.runner.forward();
    EXPECT_EQ(pass.y(), in_training);
  }
}

// A gradient in FP16 would be 0 below 6e-8. Backward rounds the softmax's gradient, and then the
// sum.
TEST(IntermediateCtc, ComputesItsLossOfHalvesInFp32) {
  const IntermediateCtc layer = conditioning();
  for (const DType half : {DType::f16, DType::bf16}) {
    IntermediatePass narrow(layer, half), wide(layer, DType::f32);
    test::assign(wide.runner.input().only().x_FC, numbers(narrow.runner.input().only().x_FC));
    narrow.runner.forward();
    wide.runner.forward();
    EXPECT_EQ(narrow.labels.losses, wide.labels.losses);
    EXPECT_EQ(numbers(narrow.runner.saved()[0]), numbers(wide.runner.saved()[0]));
    EXPECT_EQ(narrow.runner.saved()[0].dtype, DType::f32);
    test::assign(wide.runner.output_gradient().only().x_FC,
                 numbers(narrow.runner.output_gradient().only().x_FC));
    narrow.runner.backward_input();
    wide.runner.backward_input();
    EXPECT_LE(test::relative_error(narrow.dx(), wide.dx()), half == DType::f16 ? 0x1p-9 : 0x1p-6);
  }
}

TEST(IntermediateCtc, StatesTheWorkOfKnownLabels) {
  const ActivationDecl few{DType::f32, {{{100}, 4}}, {1}}, many{DType::f32, {{{100}, 4}}, {50}};
  EXPECT_LT(passing().plan(few, {}).flops.forward, passing().plan(many, {}).flops.forward);
  EXPECT_TRUE(passing().plan(few, {}).auxiliary_loss);
  EXPECT_FALSE(passing().plan(few, {}).needs_targets);
}

TEST(IntermediateCtc, RejectsWhatIsNoLoss) {
  EXPECT_THROW(IntermediateCtc({.name = "ctc", .classes = 1}), ShapeError);
  EXPECT_THROW(passing(-1), ShapeError);
  EXPECT_THROW(passing(NAN), ShapeError);
  EXPECT_THROW((void)passing().plan({DType::f32, {{{3}, 5}}}, {}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
