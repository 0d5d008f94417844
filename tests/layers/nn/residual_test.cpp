#include "layers/nn/residual.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/models/families.h"
#include "layers/models/rated_layer.h"
#include "layers/models/residual_units.h"
#include "layers/nn/batch_norm.h"
#include "layers/nn/conv2d.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/layer_norm.h"
#include "layers/nn/linear.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::Golden;
using test::LayerRunner;
using test::numbers;

const std::vector<std::int64_t> kUnitLengths = {7, 1, 13, 5};

ResidualOptions unit(std::int64_t channels, double scale) {
  ResidualOptions options;
  options.name = "unit";
  options.channels = channels;
  options.scale = scale;
  return options;
}

// Parts named as torch.nn.Sequential names them: "0.weight", "1.bias", …
ResidualOptions feed_forward(std::int64_t width, std::int64_t inner, double scale) {
  ResidualOptions options = unit(width, scale);
  auto& parts = options.parts;
  parts.push_back(std::make_unique<LayerNorm>(LayerNormOptions{.name = "0", .channels = width}));
  parts.push_back(std::make_unique<Linear>(LinearOptions{.name = "1", .in = width, .out = inner}));
  parts.push_back(std::make_unique<Nonlinearity>("2", NonlinearityKind::silu));
  parts.push_back(std::make_unique<Linear>(LinearOptions{.name = "3", .in = inner, .out = width}));
  return options;
}

TEST(Residual, AgreesWithPyTorch) {
  const Golden golden("residual");
  const Shape shape = golden.shape("x");
  const Residual layer(feed_forward(shape[1], golden.shape("1.weight")[0], 0.5));
  LayerRunner runner(layer, {DType::f32, {{{shape[0]}, shape[1]}}});
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("dy", runner.output_gradient().only().x_FC);
  for (const ParamDecl& p : runner.plan().params) golden.copy(p.name, runner.param(p.name));
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  EXPECT_LE(golden.error(runner.output().only().x_FC, "y"), 1e-5);
  EXPECT_LE(golden.error(runner.input_gradient().only().x_FC, "dx"), 1e-4);
  for (const ParamDecl& p : runner.plan().params)
    EXPECT_LE(golden.error(runner.grad(p.name), "d" + p.name), 1e-4) << p.name;
}

struct ResidualScales : testing::TestWithParam<double> {};

TEST_P(ResidualScales, HasTheGradientOfFiniteDifferences) {
  ResidualOptions options = feed_forward(6, 11, GetParam());
  options.parts.push_back(std::make_unique<Dropout>("4", 0.3));
  const Residual layer(std::move(options));
  LayerRunner runner(layer, {DType::f64, {{kUnitLengths, 6}}});
  const std::vector<std::uint64_t> utterances = {4, 8, 15, 16};
  runner.random.utterances = utterances;
  runner.randomise(3);
  check_gradients(runner);
}

// A part that keeps its output, one at each end, and statistics that a step commits.
TEST_P(ResidualScales, PartsMayKeepOutputsAndState) {
  ResidualOptions options = unit(6, GetParam());
  options.parts.push_back(std::make_unique<ClippedReLU>("first", 0.7));
  options.parts.push_back(
      std::make_unique<BatchNorm>(BatchNormOptions{.name = "norm", .channels = 6}));
  options.parts.push_back(std::make_unique<ClippedReLU>("last", 0.9));
  const Residual layer(std::move(options));
  LayerRunner runner(layer, {DType::f64, {{kUnitLengths, 6}}});
  runner.randomise(9);
  check_gradients(runner, {.step = 1e-7, .tolerance = 1e-5});  // few numbers near a kink
}

INSTANTIATE_TEST_SUITE_P(Scales, ResidualScales, testing::Values(1.0, 0.5),
                         [](const auto& tested) { return tested.param == 1 ? "one" : "half"; });

// Utterances of which 0.5 keeps some, by the seeds below.
const std::vector<std::uint64_t> kUnitUtterances = {4, 8, 15, 16};

ResidualOptions dropping(double scale) {
  ResidualOptions options = feed_forward(6, 11, scale);
  options.layer_drop = 0.5;
  return options;
}

TEST_P(ResidualScales, HasItsGradientWithUtterancesDropped) {
  const Residual layer(dropping(GetParam()));
  LayerRunner runner(layer, {DType::f64, {{kUnitLengths, 6}}});
  runner.random = {.seed = 1, .epoch = 0, .utterances = kUnitUtterances};
  runner.randomise(3);
  check_gradients(runner);
}

TEST_P(ResidualScales, DroppedUtterancesPassAndOthersAreScaled) {
  const Residual layer(dropping(GetParam())), whole(feed_forward(6, 11, GetParam()));
  LayerRunner runner(layer, {DType::f64, {{kUnitLengths, 6}}}),
      expected(whole, {DType::f64, {{kUnitLengths, 6}}});
  runner.random = {.seed = 1, .epoch = 0, .utterances = kUnitUtterances};
  for (LayerRunner* each : {&runner, &expected}) {
    each->randomise(3);
    each->forward();
  }
  const auto x = numbers(runner.input().only().x_FC), y = numbers(runner.output().only().x_FC),
             of_all = numbers(expected.output().only().x_FC);
  int dropped = 0;
  std::size_t i = 0;
  for (const std::int64_t frames : kUnitLengths) {
    const bool passes = y[i] == x[i];
    dropped += passes ? 1 : 0;
    for (const std::size_t end = i + static_cast<std::size_t>(frames) * 6; i < end; ++i)
      EXPECT_NEAR(y[i] - x[i], passes ? 0 : 2 * (of_all[i] - x[i]), 1e-12);
  }
  EXPECT_GT(dropped, 0);
  EXPECT_LT(dropped, 4);
}

TEST_P(ResidualScales, MayHaveOnePart) {
  ResidualOptions options = unit(6, GetParam());
  options.parts.push_back(
      std::make_unique<Linear>(LinearOptions{.name = "only", .in = 6, .out = 6}));
  const Residual layer(std::move(options));
  LayerRunner runner(layer, {DType::f64, {{kUnitLengths, 6}}});
  runner.randomise(5);
  check_gradients(runner);
}

// LayerRunner poisons what is not written: parts that ran would read NaN.
TEST(Residual, ComputesNothingWhereAllUtterancesAreDropped) {
  ResidualOptions options = unit(3, 1);
  options.layer_drop = 0.9999;
  options.parts.push_back(
      std::make_unique<BatchNorm>(BatchNormOptions{.name = "a", .channels = 3}));
  const Residual layer(std::move(options));
  LayerRunner runner(layer, {DType::f64, {{{5, 7}, 3}}});
  const std::vector<std::uint64_t> utterances = {3, 5};
  runner.random.utterances = utterances;
  runner.randomise(4);
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  runner.commit_state();
  EXPECT_EQ(numbers(runner.output().only().x_FC), numbers(runner.input().only().x_FC));
  EXPECT_EQ(numbers(runner.input_gradient().only().x_FC),
            numbers(runner.output_gradient().only().x_FC));
  EXPECT_EQ(numbers(runner.grad("a.weight")), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(numbers(runner.state("a.running_mean")), (std::vector<double>{0, 0, 0}));
}

TEST(Residual, DropsNoUtteranceInEvaluation) {
  const Residual layer(dropping(0.5)), whole(feed_forward(6, 11, 0.5));
  LayerRunner runner(layer, {DType::f32, {{kUnitLengths, 6}}}),
      expected(whole, {DType::f32, {{kUnitLengths, 6}}});
  for (LayerRunner* each : {&runner, &expected}) {
    each->mode = Mode::evaluate;
    each->randomise(8);
    each->forward();
  }
  EXPECT_EQ(numbers(runner.output().only().x_FC), numbers(expected.output().only().x_FC));
}

TEST(Residual, HasNothingToCommitWithoutState) {
  const Residual layer(feed_forward(5, 8, 1));
  LayerRunner runner(layer, {DType::f32, {{kUnitLengths, 5}}});
  EXPECT_NO_THROW(runner.commit_state({}));
}

TEST(Residual, CommitsTheStateOfEachPart) {
  ResidualOptions options = unit(3, 1);
  options.parts.push_back(
      std::make_unique<BatchNorm>(BatchNormOptions{.name = "a", .channels = 3}));
  options.parts.push_back(
      std::make_unique<BatchNorm>(BatchNormOptions{.name = "b", .channels = 3}));
  const Residual layer(std::move(options));
  const BatchNorm a({.name = "a", .channels = 3}), b({.name = "b", .channels = 3});
  LayerRunner whole(layer, {DType::f64, {{kUnitLengths, 3}}}),
      first(a, {DType::f64, {{kUnitLengths, 3}}}), second(b, {DType::f64, {{kUnitLengths, 3}}});
  whole.randomise(4);
  const auto copy = [](const Tensor& from, const Tensor& to) { test::assign(to, numbers(from)); };
  copy(whole.input().only().x_FC, first.input().only().x_FC);
  for (const char* name : {"a.weight", "a.bias"}) copy(whole.param(name), first.param(name));
  for (const char* name : {"b.weight", "b.bias"}) copy(whole.param(name), second.param(name));
  first.forward();
  copy(first.output().only().x_FC, second.input().only().x_FC);
  second.forward();
  whole.forward();
  std::vector<double> sums(whole.sums().begin(), whole.sums().end());  // two micro-batches
  sums.insert(sums.end(), whole.sums().begin(), whole.sums().end());
  whole.commit_state(sums);
  std::vector<double> pooled;
  for (auto [part, runner] :
       {std::pair<const BatchNorm*, LayerRunner*>{&a, &first}, {&b, &second}}) {
    std::vector<double> twice(runner->sums().begin(), runner->sums().end());
    twice.insert(twice.end(), runner->sums().begin(), runner->sums().end());
    runner->commit_state(twice);
    const std::vector<double> row = part->pool(twice);
    pooled.insert(pooled.end(), row.begin(), row.end());
    for (const char* state : {".running_mean", ".running_var"})
      EXPECT_EQ(numbers(whole.state(part->name() + state)),
                numbers(runner->state(part->name() + state)));
  }
  EXPECT_EQ(layer.pool(sums), pooled);
}

TEST(Residual, EvaluatesAsItTrainsWithoutDropout) {
  const Residual layer(feed_forward(5, 8, 0.5));
  LayerRunner runner(layer, {DType::f32, {{kUnitLengths, 5}}});
  runner.randomise(8);
  runner.forward();
  const std::vector<double> trained = numbers(runner.output().only().x_FC);
  runner.mode = Mode::evaluate;
  runner.forward();
  EXPECT_EQ(numbers(runner.output().only().x_FC), trained);
}

std::unique_ptr<Layer> recomputing(std::unique_ptr<Layer> unit) {
  recompute_cheap_parts({&unit, 1});
  return unit;
}

// Each family's units, with dropout after a nonlinearity and after the last product.
std::vector<std::unique_ptr<Layer>> units() {
  std::vector<std::unique_ptr<Layer>> all;
  all.push_back(feed_forward_unit(
      {.name = "f", .width = 6, .inner = 11, .scale = 0.5, .dropout = 0.3, .layer_drop = 0.4}));
  all.push_back(attention_unit({.name = "a", .width = 6, .heads = 2, .dropout = 0.3}));
  all.push_back(convolution_unit({.name = "c", .width = 6, .kernel = 5, .dropout = 0.3}));
  return all;
}

std::size_t kept_bytes(const LayerPlan& plan) {
  std::size_t bytes = 0;
  for (const SavedDecl& saved : plan.saved)
    if (saved.kind == SavedDecl::Kind::own && saved.life != Life::carried)
      bytes += static_cast<std::size_t>(element_count(saved.shape)) * size_of(saved.dtype);
  return bytes;
}

// Norm, nonlinearity and its dropout: what the last dropout makes, no part's backward asks for.
TEST(Residual, RemadePartsAreThoseThatRunAgain) {
  const ActivationDecl input{DType::f32, {{kUnitLengths, 6}}};
  const auto names = [&](const Layer& layer) {
    std::vector<std::string> names;
    for (const ResidualPart& part : parts_of(layer, input, {})) {
      if (!part.recomputed) continue;
      EXPECT_EQ(part.plan.work, Work::elementwise);
      EXPECT_EQ(part.input.only().lengths, kUnitLengths);
      names.push_back(part.layer->name());
    }
    return names;
  };
  auto unit = std::move(units().front());
  EXPECT_TRUE(names(*unit).empty());
  unit = recomputing(std::move(unit));
  const std::vector<std::string> expected{"f.norm", "f.act", "f.act_dropout"};
  EXPECT_EQ(names(*unit), expected);
  const double all_again = unit->plan(input, {}).flops.backward_input;
  EXPECT_EQ(all_again, units().front()->plan(input, {}).flops.backward_input);
  const std::size_t parameters = unit->plan(input, {}).params.size();
  const RatedLayer rated(std::move(unit), {.of_parameters = std::vector(parameters, 0.5)});
  EXPECT_EQ(names(rated), expected);
}

// LayerRunner poisons what is carried before backward_input, so what is not recomputed would be
// NaN.
TEST(Residual, RemakingChangesNoBitAndKeepsLess) {
  std::vector<std::unique_ptr<Layer>> keep = units(), recompute = units();
  for (std::size_t i = 0; i < keep.size(); ++i) {
    const auto unit = recomputing(std::move(recompute[i]));
    LayerRunner expected(*keep[i], {DType::bf16, {{kUnitLengths, 6}}}),
        runner(*unit, {DType::bf16, {{kUnitLengths, 6}}});
    for (LayerRunner* each : {&expected, &runner}) {
      each->random.utterances = kUnitUtterances;
      each->randomise(7);
      each->forward();
      each->backward_input();
      each->backward_weight();
    }
    EXPECT_EQ(numbers(runner.output().only().x_FC), numbers(expected.output().only().x_FC));
    EXPECT_EQ(numbers(runner.input_gradient().only().x_FC),
              numbers(expected.input_gradient().only().x_FC));
    for (const ParamDecl& p : runner.plan().params)
      EXPECT_EQ(numbers(runner.grad(p.name)), numbers(expected.grad(p.name))) << p.name;
    EXPECT_LT(kept_bytes(runner.plan()), kept_bytes(expected.plan())) << unit->name();
  }
}

// The unit keeps the norm's statistics and output, and then the first product's output alone.
TEST(Residual, KeepsOneSideOfANonlinearity) {
  for (const double dropout : {0.0, 0.3}) {
    const auto unit = feed_forward_unit({.name = "f", .width = 6, .inner = 11, .dropout = dropout});
    const LayerPlan plan = unit->plan({DType::f32, {{kUnitLengths, 6}}}, {});
    const std::size_t rows = 26, statistics = 2 * rows;
    EXPECT_EQ(kept_bytes(plan), sizeof(float) * (rows * (6 + 11) + statistics));
  }
}

TEST(Residual, RemakingKeepsOfFeedForwardOneProductsOutput) {
  const auto unit =
      recomputing(feed_forward_unit({.name = "f", .width = 6, .inner = 11, .dropout = 0.3}));
  const LayerPlan plan = unit->plan({DType::f32, {{kUnitLengths, 6}}}, {});
  const std::size_t rows = 26, statistics = 2 * rows;  // of the norm
  EXPECT_EQ(kept_bytes(plan), sizeof(float) * (rows * 11 + statistics));
}

TEST(Residual, RemakingHasTheGradientOfFiniteDifferences) {
  std::vector<std::unique_ptr<Layer>> all = units();
  all.pop_back();  // the gradient of a bias before batch norm is 0, so nothing to compare with
  for (auto& each : all) {
    const auto unit = recomputing(std::move(each));
    LayerRunner runner(*unit, {DType::f64, {{kUnitLengths, 6}}});
    runner.random.utterances = kUnitUtterances;
    runner.randomise(3);
    check_gradients(runner);
  }
}

TEST(Residual, TakesFramesWhoseLabelsAreKnown) {
  const Residual layer(feed_forward(5, 8, 1));
  EXPECT_NO_THROW((void)layer.plan({DType::f32, {{{7, 3}, 5}}, {2, 1}}, {}));
}

TEST(Residual, RejectsPartsThatDoNotFit) {
  EXPECT_THROW(Residual(unit(5, 1)), ShapeError);  // none
  const Residual layer(feed_forward(5, 8, 1));
  EXPECT_THROW(layer.plan({DType::f32, {{kUnitLengths, 6}}}, {}), ShapeError);

  ResidualOptions widens = unit(5, 1);
  widens.parts.push_back(std::make_unique<Linear>(LinearOptions{.name = "w", .in = 5, .out = 6}));
  EXPECT_THROW(Residual(std::move(widens)).plan({DType::f32, {{kUnitLengths, 5}}}, {}), ShapeError);

  ResidualOptions shortens = unit(5, 1);
  shortens.parts.push_back(std::make_unique<Conv2d>(Conv2dOptions{
      .name = "c", .in_frequencies = 5, .frequency = {}, .time = {.kernel = 2, .stride = 2}}));
  EXPECT_THROW(Residual(std::move(shortens)).plan({DType::f32, {{{7, 3}, 5}}}, {}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
