#include "layers/nn/decoder_embedding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/models/rated_layer.h"
#include "tests/layers/losses/labels.h"
#include "tests/support/layers/gradient_check.h"

namespace penstock::layers {
namespace {

using test::LayerRunner;
using test::numbers;

constexpr std::int64_t kWidth = 6;

DecoderEmbeddingOptions options_of(TextPositions positions) {
  return {.name = "text",
          .classes = 11,
          .width = kWidth,
          .prompt = {7, 0, 7},
          .bos = 1,
          .scale = 1.5,
          .positions = positions,
          .max_positions = 9};
}

struct DecoderTextPass {
  DecoderTextPass(const DecoderEmbeddingOptions& options, DType dtype,
                  const std::vector<std::int64_t>& lengths,
                  const std::vector<std::vector<std::int32_t>>& texts)
      : layer(options),
        labels(texts, 1),
        runner(layer, {dtype, {{lengths, options.width}}, labels.counts()}) {
    runner.targets = &labels.targets;
    runner.randomise(2);
  }
  std::vector<double> text() { return numbers(runner.output().frames[1].x_FC); }
  std::vector<double> row(std::int64_t r) {
    const std::vector<double> y = text();
    return {y.begin() + r * kWidth, y.begin() + (r + 1) * kWidth};
  }

  DecoderEmbedding layer;
  Labels labels;
  LayerRunner runner;
};

constexpr TextPositions kAll[] = {TextPositions::none, TextPositions::sinusoidal,
                                  TextPositions::learned, TextPositions::canary};

// An utterance of a language has the rows and gradients of a layer with that prompt alone.
TEST(DecoderEmbeddingTest, GivesUtterancesTheirLanguagesPrompt) {
  for (const TextPositions positions : kAll) {
    DecoderEmbeddingOptions options = options_of(positions), alone = options;
    options.prompts = {2, 9, 7, 5, 0, 4};
    alone.prompt = {5, 0, 4};
    const std::vector<std::int32_t> languages = {2, 2};
    DecoderTextPass with(options, DType::f32, {3, 2}, {{2}, {4, 5}}),
        without(alone, DType::f32, {3, 2}, {{2}, {4, 5}});
    with.labels.targets.prompts = languages;
    for (DecoderTextPass* const pass : {&with, &without}) {
      pass->runner.forward();
      pass->runner.backward_input();
      pass->runner.backward_weight();
    }
    EXPECT_EQ(with.text(), without.text());
    EXPECT_EQ(numbers(with.runner.grads()[0]), numbers(without.runner.grads()[0]));
  }
}

TEST(DecoderEmbeddingTest, HasTheGradientOfFiniteDifferences) {
  for (const TextPositions positions : kAll) {
    DecoderTextPass pass(options_of(positions), DType::f64, {3, 1, 6}, {{2, 2, 10}, {0}, {}});
    check_gradients(pass.runner);
  }
}

// Row 3 of the second text has bos, and row 4 its label.
TEST(DecoderEmbeddingTest, AddsScaledEmbeddingsAndPositions) {
  for (const TextPositions positions : kAll) {
    DecoderTextPass pass(options_of(positions), DType::f64, {3, 2}, {{2, 9}, {5}});
    pass.runner.forward();
    EXPECT_EQ(numbers(pass.runner.output().frames[0].x_FC),
              numbers(pass.runner.input().only().x_FC));
    const std::vector<double> table = numbers(pass.runner.params()[0]);
    const int ids[] = {7, 0, 7, 1, 2, 9, 7, 0, 7, 1, 5};
    std::vector<double> expected;
    for (int r = 0; r < 11; ++r) {
      const int position = r < 6 ? r : r - 6;
      for (int c = 0; c < kWidth; ++c) {
        double added = 0;
        const double angle = position * std::pow(10000.0, -(c - c % 2) / 6.0);
        if (positions == TextPositions::sinusoidal)
          added = c % 2 == 0 ? std::sin(angle) : std::cos(angle);
        const double apart = position * std::pow(10000.0, -(2 * (c % 3)) / 6.0);
        if (positions == TextPositions::canary)
          added = (c < 3 ? std::sin(apart) : std::cos(apart)) / std::sqrt(6.0);
        if (positions == TextPositions::learned)
          added = numbers(pass.runner.params()[1])[static_cast<std::size_t>(position * 6 + c)];
        expected.push_back(1.5 * table[static_cast<std::size_t>(ids[r] * 6 + c)] + added);
      }
    }
    EXPECT_LE(test::relative_error(pass.text(), expected), 1e-12);
  }
}

// The rows of single labels are those of a whole text.
TEST(DecoderEmbeddingTest, EmbedsSingleLabelsAsWholeTexts) {
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const TextPositions positions : kAll) {
      DecoderTextPass pass(options_of(positions), dtype, {3, 2}, {{2, 9}, {5}});
      pass.runner.forward();
      const auto backend = make_cpu_backend();
      const auto stream = backend->make_stream();
      std::vector<std::byte> workspace(pass.layer.embed_workspace({DeviceKind::cpu, dtype}, 2) +
                                       kAlignment);
      Buffer memory = backend->allocate(workspace.size());
      Context context{*backend, *stream};
      context.mode = Mode::evaluate;
      context.workspace = {memory.data(), workspace.size()};
      std::vector<std::int32_t> ids = {9, 5};
      const std::vector<std::int64_t> at = {5, 4};
      Buffer rows = backend->allocate(2 * kWidth * 4);
      const Tensor y{rows.data(), dtype, {2, kWidth}};
      const WorkspaceScope lending(*stream, context.workspace);
      pass.layer.embed(context, {pass.runner.params(), {}},
                       {{reinterpret_cast<std::byte*>(ids.data()), DType::i32, {2}}, at, y});
      std::vector<double> expected = pass.row(5);
      const std::vector<double> second = pass.row(10);
      expected.insert(expected.end(), second.begin(), second.end());
      EXPECT_LE(test::relative_error(numbers(y), expected), dtype == DType::f32 ? 1e-6 : 1e-2);
    }
}

TEST(DecoderEmbeddingTest, FrozenItKeepsNothing) {
  const RatedLayer frozen(std::make_unique<DecoderEmbedding>(options_of(TextPositions::learned)),
                          {{0, 0}, true});
  Labels labels({{2}, {4, 5}}, 1);
  LayerRunner runner(frozen, {DType::f32, {{{3, 2}, kWidth}}, {1, 2}});
  runner.targets = &labels.targets;
  runner.randomise(2);
  runner.forward();
  runner.backward_input();
  for (const SavedDecl& decl : runner.plan().saved) EXPECT_EQ(decl.kind, SavedDecl::Kind::none);
  EXPECT_EQ(numbers(runner.input_gradient().only().x_FC),
            numbers(runner.output_gradient().frames[0].x_FC));
}

TEST(DecoderEmbeddingTest, EvaluatesWithoutLabels) {
  DecoderTextPass with(options_of(TextPositions::sinusoidal), DType::f32, {3}, {{2, 9}});
  with.runner.forward();
  std::vector<double> rows = with.text();
  rows.resize(static_cast<std::size_t>(kWidth * 4));
  for (const bool targets : {true, false}) {
    DecoderTextPass without(options_of(TextPositions::sinusoidal), DType::f32, {3}, {{}});
    without.runner.mode = Mode::evaluate;
    if (!targets) without.runner.targets = nullptr;
    without.runner.forward();
    EXPECT_EQ(without.text(), rows);
  }
}

TEST(DecoderEmbeddingTest, PlansItsOutputFromTheLabels) {
  const DecoderEmbedding layer(options_of(TextPositions::learned));
  const LayerPlan plan =
      layer.plan({DType::bf16, {{{50, 7}, kWidth}}, {3, 0}}, {DeviceKind::cpu, DType::bf16});
  EXPECT_EQ(plan.output,
            (ActivationDecl{DType::bf16, {{{50, 7}, kWidth}, {{7, 4}, kWidth}}, {}, true, 5}));
  EXPECT_TRUE(plan.needs_targets);
  const LayerPlan usual = layer.plan({DType::f32, {{{50, 7}, kWidth}}}, {});
  EXPECT_EQ(usual.output.frames[1].lengths, (std::vector<std::int64_t>{4 + 10, 4 + 1}));
}

TEST(DecoderEmbeddingTest, RejectsTextsBeyondItsPositions) {
  DecoderTextPass fits(options_of(TextPositions::learned), DType::f32, {3}, {{1, 2, 3, 4, 5}});
  EXPECT_NO_THROW(fits.runner.forward());
  DecoderTextPass pass(options_of(TextPositions::learned), DType::f32, {3}, {{1, 2, 3, 4, 5, 6}});
  EXPECT_THROW(pass.runner.forward(), ShapeError);
}

TEST(DecoderEmbeddingTest, RejectsLabelsThatWereNotPlanned) {
  DecoderTextPass pass(options_of(TextPositions::none), DType::f32, {3}, {{1, 2}});
  Labels others({{1, 2, 3}}, 1), two({{1}, {2}}, 1), wrong({{1, 11}}, 1);
  for (Labels* const labels : {&others, &two, &wrong}) {
    pass.runner.targets = &labels->targets;
    EXPECT_THROW(pass.runner.forward(), ShapeError);
  }
  pass.runner.targets = nullptr;
  EXPECT_THROW(pass.runner.forward(), ShapeError) << "no labels at all in training";
}

TEST(DecoderEmbeddingTest, RejectsWhatIsNoEmbedding) {
  const auto with = [](auto change) {
    DecoderEmbeddingOptions options = options_of(TextPositions::learned);
    change(options);
    return DecoderEmbedding(options);
  };
  EXPECT_NO_THROW(with([](DecoderEmbeddingOptions&) {}));
  EXPECT_THROW(with([](DecoderEmbeddingOptions& o) { o.classes = 0; }), ShapeError);
  EXPECT_THROW(with([](DecoderEmbeddingOptions& o) { o.bos = 11; }), ShapeError);
  EXPECT_THROW(with([](DecoderEmbeddingOptions& o) { o.max_positions = 4; }), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
