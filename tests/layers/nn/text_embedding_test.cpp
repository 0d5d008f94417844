#include "layers/nn/text_embedding.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "layers/models/rated_layer.h"
#include "tests/layers/losses/labels.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::check_gradients;
using test::Golden;
using test::LayerRunner;
using test::numbers;

/// The layer of tests/golden/cases/text_embedding.py.
TextEmbeddingOptions golden_options() {
  return {.name = "embed", .classes = 11, .width = 5, .prompt = {7, 0, 7}, .bos = 1};
}

struct TextPass {
  TextPass(const TextEmbeddingOptions& options, DType dtype,
           const std::vector<std::int64_t>& lengths,
           const std::vector<std::vector<std::int32_t>>& texts)
      : layer(options),
        labels(texts, 1),
        runner(layer, {dtype, {{lengths, options.width}}, labels.counts()}) {
    runner.targets = &labels.targets;
    runner.randomise(2);
  }
  std::vector<double> y() { return numbers(runner.output().only().x_FC); }

  TextEmbedding layer;
  Labels labels;
  LayerRunner runner;
};

class TextEmbeddingTypes : public testing::TestWithParam<DType> {};

TEST_P(TextEmbeddingTypes, AgreesWithPyTorch) {
  const Golden golden("text_embedding");
  TextPass pass(golden_options(), GetParam(), golden.integers("lengths"), labels_of(golden));
  LayerRunner& runner = pass.runner;
  golden.copy("x", runner.input().only().x_FC);
  golden.copy("weight", runner.param("embed.weight"));
  golden.copy("dy", runner.output_gradient().only().x_FC);
  runner.forward();
  runner.backward_input();
  runner.backward_weight();
  EXPECT_EQ(pass.y(), golden["y"]);
  EXPECT_EQ(numbers(runner.input_gradient().only().x_FC), golden["dx"]);
  EXPECT_LE(golden.error(runner.grad("embed.weight"), "d weight"), 1e-6);
  EXPECT_EQ(runner.output().only().lengths[0], 4 + 3 + 1 + 4);
}

INSTANTIATE_TEST_SUITE_P(Types, TextEmbeddingTypes, testing::Values(DType::f32, DType::f64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST(TextEmbeddingTest, HasTheGradientOfFiniteDifferences) {
  for (const std::vector<std::int32_t>& prompt : {std::vector<std::int32_t>{}, {4, 4}}) {
    TextEmbeddingOptions options = golden_options();
    options.prompt = prompt;
    TextPass pass(options, DType::f64, {3, 1, 6}, {{2, 2, 10}, {0}, {}});
    check_gradients(pass.runner);
  }
}

// An utterance of a language has the rows and gradients of a layer with that prompt alone.
TEST(TextEmbeddingTest, GivesUtterancesTheirLanguagesPrompt) {
  TextEmbeddingOptions options = golden_options(), alone = options;
  options.prompts = {2, 9, 7, 5, 0, 4};
  alone.prompt = {5, 0, 4};
  const std::vector<std::int32_t> languages = {2, 2};
  TextPass with(options, DType::f32, {3, 2}, {{2}, {4, 5}}),
      without(alone, DType::f32, {3, 2}, {{2}, {4, 5}});
  with.labels.targets.prompts = languages;
  for (TextPass* const pass : {&with, &without}) {
    pass->runner.forward();
    pass->runner.backward_input();
    pass->runner.backward_weight();
  }
  EXPECT_EQ(with.y(), without.y());
  EXPECT_EQ(numbers(with.runner.grads()[0]), numbers(without.runner.grads()[0]));
}

TEST(TextEmbeddingTest, MixedLanguagesHaveTheirGradient) {
  TextEmbeddingOptions options = golden_options();
  options.prompts = {2, 9, 7, 5, 0, 4};
  TextPass pass(options, DType::f64, {3, 1, 6}, {{2, 2, 10}, {0}, {}});
  const std::vector<std::int32_t> languages = {1, 0, 2};
  pass.labels.targets.prompts = languages;
  check_gradients(pass.runner);
}

TEST(TextEmbeddingTest, WithAPrefixHasItsGradient) {
  TextEmbeddingOptions options = golden_options();
  options.prefix = {3, 7};
  TextPass pass(options, DType::f64, {3, 1, 6}, {{2, 2, 10}, {0}, {}});
  check_gradients(pass.runner);
}

// The rows after a prefix are those without one.
TEST(TextEmbeddingTest, PutsAPrefixBeforeTheFrames) {
  TextEmbeddingOptions options = golden_options();
  options.prefix = {3, 7};
  TextPass with(options, DType::f32, {3, 2}, {{2}, {4, 5}}),
      without(golden_options(), DType::f32, {3, 2}, {{2}, {4, 5}});
  with.runner.forward();
  without.runner.forward();
  const std::vector<double> table = numbers(with.runner.params()[0]), plain = without.y();
  std::vector<double> expected;
  const auto take = [&](const std::vector<double>& from, int first, int count) {
    expected.insert(expected.end(), from.begin() + 5 * first, from.begin() + 5 * (first + count));
  };
  const int first_rows = 3 + 3 + 1 + 1, other_rows = 2 + 3 + 1 + 2;
  for (const int utterance : {0, 1}) {
    for (const int id : options.prefix) take(table, id, 1);
    take(plain, utterance * first_rows, utterance == 0 ? first_rows : other_rows);
  }
  EXPECT_EQ(with.y(), expected);
  options.prefix = {11};
  EXPECT_THROW((void)TextEmbedding(options), ShapeError);
}

TEST(TextEmbeddingTest, CopiesHalvesAndAddsInFP32) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    TextPass half(golden_options(), dtype, {3, 2}, {{2, 2, 10}, {}});
    TextPass full(golden_options(), DType::f32, {3, 2}, {{2, 2, 10}, {}});
    const auto copy = [](const Tensor& from, const Tensor& to) { test::assign(to, numbers(from)); };
    copy(half.runner.input().only().x_FC, full.runner.input().only().x_FC);
    copy(half.runner.output_gradient().only().x_FC, full.runner.output_gradient().only().x_FC);
    copy(half.runner.params()[0], full.runner.params()[0]);
    for (TextPass* const pass : {&half, &full}) {
      pass->runner.forward();
      pass->runner.backward_input();
      pass->runner.backward_weight();
    }
    EXPECT_EQ(half.y(), full.y());
    EXPECT_EQ(numbers(half.runner.input_gradient().only().x_FC),
              numbers(full.runner.input_gradient().only().x_FC));
    EXPECT_EQ(numbers(half.runner.grads()[0]), numbers(full.runner.grads()[0]));
  }
}

TEST(TextEmbeddingTest, FrozenItKeepsNothing) {
  TextPass trained(golden_options(), DType::f32, {3, 2}, {{2}, {4, 5}});
  trained.runner.forward();
  trained.runner.backward_input();
  const RatedLayer frozen(std::make_unique<TextEmbedding>(golden_options()), {{0}, true});
  LayerRunner runner(frozen, {DType::f32, {{{3, 2}, 5}}, {1, 2}});
  runner.targets = &trained.labels.targets;
  runner.randomise(2);
  runner.forward();
  runner.backward_input();
  EXPECT_EQ(numbers(runner.output().only().x_FC), trained.y());
  EXPECT_EQ(numbers(runner.input_gradient().only().x_FC),
            numbers(trained.runner.input_gradient().only().x_FC));
  for (const SavedDecl& decl : runner.plan().saved) EXPECT_EQ(decl.kind, SavedDecl::Kind::none);
}

// The first rows are those of a pass with labels.
TEST(TextEmbeddingTest, EvaluatesWithoutLabels) {
  TextPass with(golden_options(), DType::f32, {3}, {{2, 9}});
  with.runner.forward();
  std::vector<double> rows = with.y();
  rows.resize(5 * (3 + 3 + 1));
  for (const bool targets : {true, false}) {
    TextPass without(golden_options(), DType::f32, {3}, {{}});
    without.runner.mode = Mode::evaluate;
    if (!targets) without.runner.targets = nullptr;
    without.runner.forward();
    EXPECT_EQ(without.y(), rows);
  }
}

TEST(TextEmbeddingTest, PlansItsOutputFromTheLabels) {
  const TextEmbedding layer(golden_options());
  const BackendSizes halves{DeviceKind::cpu, DType::bf16};
  const LayerPlan plan = layer.plan({DType::bf16, {{{50, 7}, 5}}, {8, 0}}, halves);
  EXPECT_EQ(plan.output, (ActivationDecl{DType::bf16, {{{50 + 4 + 8, 7 + 4}, 5}}, {}, true}));
  EXPECT_EQ(plan.saved[0].shape, (Shape{4 + 8 + 4}));
  EXPECT_EQ(plan.saved[1].shape, (Shape{4 + 8 + 4, 5}));
  EXPECT_EQ(plan.saved[1].dtype, DType::bf16);
  EXPECT_TRUE(plan.needs_targets);
  const LayerPlan usual = layer.plan({DType::bf16, {{{50, 7}, 5}}}, halves);
  EXPECT_EQ(usual.output.only().lengths, (std::vector<std::int64_t>{50 + 4 + 10, 7 + 4 + 1}));
}

TEST(TextEmbeddingTest, RejectsLabelsThatAreNoRows) {
  for (const std::int32_t label : {-1, 11}) {
    TextPass pass(golden_options(), DType::f32, {3}, {{label}});
    EXPECT_THROW(pass.runner.forward(), ShapeError) << label;
  }
}

TEST(TextEmbeddingTest, RejectsLabelsThatWereNotPlanned) {
  TextPass pass(golden_options(), DType::f32, {3}, {{1, 2}});
  Labels others({{1, 2, 3}}, 1), two({{1}, {2}}, 1);
  for (Labels* const labels : {&others, &two}) {
    pass.runner.targets = &labels->targets;
    EXPECT_THROW(pass.runner.forward(), ShapeError);
  }
  pass.runner.targets = nullptr;
  EXPECT_THROW(pass.runner.forward(), ShapeError) << "no labels at all in training";
}

TEST(TextEmbeddingTest, RejectsWhatIsNoEmbedding) {
  const auto with = [](auto change) {
    TextEmbeddingOptions options = golden_options();
    change(options);
    return TextEmbedding(options);
  };
  EXPECT_NO_THROW(with([](TextEmbeddingOptions&) {}));
  EXPECT_THROW(with([](TextEmbeddingOptions& o) { o.classes = 0; }), ShapeError);
  EXPECT_THROW(with([](TextEmbeddingOptions& o) { o.width = 0; }), ShapeError);
  EXPECT_THROW(with([](TextEmbeddingOptions& o) { o.bos = 11; }), ShapeError);
  EXPECT_THROW(with([](TextEmbeddingOptions& o) { o.prompt.push_back(-1); }), ShapeError);
  EXPECT_THROW((void)TextEmbedding(golden_options()).plan({DType::f32, {{{3}, 6}}}, {}),
               ShapeError);
}

}  // namespace
}  // namespace penstock::layers
