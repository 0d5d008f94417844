#include "partition/layout/layer_sequence.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "base/error.h"
#include "layers/losses/token_cross_entropy.h"
#include "layers/models/conformer.h"
#include "layers/models/wav2vec2.h"
#include "layers/nn/conv1d.h"
#include "layers/nn/linear.h"
#include "layers/nn/text_embedding.h"
#include "partition/layout/build_model.h"
#include "tests/support/partition/small_sequence.h"

namespace penstock::partition {
namespace {

using Lengths = std::vector<std::int64_t>;

TEST(LayerSequence, PlansEveryLayerForTheLengths) {
  const auto plans = plan_layers(test::small_sequence(), Lengths{7, 1, 13, 5}, {});
  ASSERT_EQ(plans.size(), 4u);
  EXPECT_EQ(plans[0].output, (layers::ActivationDecl{layers::DType::f32, {{{4, 1, 7, 3}, 12}}}));
  EXPECT_EQ(plans[2].output, (layers::ActivationDecl{layers::DType::f32, {{{4, 1, 7, 3}, 10}}}));
  EXPECT_EQ(plans[3].output.bytes(), layers::aligned(15 * 5 * 4));
}

TEST(LayerSequence, CountsTheFramesThatAreLeft) {
  EXPECT_EQ(output_frames(test::small_sequence(), Lengths{7, 1, 13, 5}), (Lengths{4, 1, 7, 3}));
}

/// A projection, a text of 7 classes with a prompt of two, a projection and a loss.
LayerSequence sequence_with_text() {
  LayerSequence sequence;
  sequence.features = 3;
  const auto add = [&](auto layer) { sequence.layers.push_back(std::move(layer)); };
  add(std::make_unique<layers::Linear>(layers::LinearOptions{"output", 3, 4}));
  add(std::make_unique<layers::TextEmbedding>(
      layers::TextEmbeddingOptions{.name = "text", .classes = 7, .width = 4, .prompt = {1, 2}}));
  add(std::make_unique<layers::Linear>(layers::LinearOptions{"linear", 4, 4}));
  add(std::make_unique<layers::TokenCrossEntropy>(
      layers::TokenCrossEntropyOptions{.name = "loss", .classes = 7, .width = 4}));
  return sequence;
}

TEST(LayerSequence, PlansLabelsThatJoinTheFrames) {
  const LayerSequence sequence = sequence_with_text();
  const auto plans = plan_layers(sequence, Lengths{7, 25}, {}, Lengths{4, 0});
  EXPECT_EQ(first_label_reader(plans), 1);
  EXPECT_EQ(plans[1].output.only().lengths, (Lengths{7 + 3 + 4, 25 + 3 + 0}));
  EXPECT_EQ(plans[2].output.only().lengths, (Lengths{14, 28}));
  EXPECT_EQ(output_frames(sequence, Lengths{7, 25}), (Lengths{7, 25}));
  EXPECT_EQ(rows_before_text(sequence, Lengths{7, 25}, {}), (Lengths{10, 28}));
}

/// Later layers take the usual number that the first one assumed, and not that of their own rows.
TEST(LayerSequence, PlansOneUsualNumberOfLabels) {
  const LayerSequence sequence = sequence_with_text();
  const auto usual = plan_layers(sequence, Lengths{7, 25}, {}),
             stated = plan_layers(sequence, Lengths{7, 25}, {}, Lengths{1, 5});
  EXPECT_EQ(usual[1].output.only().lengths, (Lengths{11, 33}));
  EXPECT_EQ(usual[3].flops.forward, stated[3].flops.forward);
}

TEST(LayerSequence, KnowsTheFewestFrames) {
  // ((n - 10) / 5 + 1 - 3) / 2 + 1 frames, at least one: 20 samples.
  const layers::Wav2Vec2Options two{.kernels = {10, 3}, .strides = {5, 2}, .layers = 1};
  EXPECT_EQ(min_frames({two.build({.features = 1}), 1}), 20);
  EXPECT_EQ(min_frames({layers::Wav2Vec2Options{}.build({.features = 1}), 1}), 400);
  EXPECT_EQ(min_frames({layers::ConformerOptions{.layers = 1}.build({.features = 80}), 80}), 1);
}

TEST(LayerSequence, HasItsParametersWithoutFrames) {
  const LayerSequence sequence{layers::Wav2Vec2Options{}.build({.features = 1}), 1};
  const auto with = plan_layers(sequence, std::vector<std::int64_t>{400}, {});
  const auto without = plan_without_frames(sequence, {});
  ASSERT_EQ(without.size(), with.size());
  for (std::size_t i = 0; i < with.size(); ++i) {
    ASSERT_EQ(without[i].params.size(), with[i].params.size());
    EXPECT_EQ(without[i].sums, with[i].sums);
    for (std::size_t p = 0; p < with[i].params.size(); ++p)
      EXPECT_EQ(without[i].params[p].shape, with[i].params[p].shape);
  }
}

TEST(LayerSequence, RejectsLayersThatDoNotFit) {
  LayerSequence sequence = test::small_sequence();
  sequence.layers.push_back(std::make_unique<layers::Linear>(layers::LinearOptions{"late", 6, 5}));
  EXPECT_THROW(plan_layers(sequence, Lengths{7}, {}), ShapeError);
}

TEST(LayerRuns, AreAsLongAsTheyCanBe) {
  EXPECT_TRUE(runs_of({}).empty());
  EXPECT_TRUE(runs_of({false, false}).empty());
  EXPECT_EQ(runs_of({true, true, true}), (std::vector<LayerRun>{{0, 3}}));
  EXPECT_EQ(runs_of({true, false, true, true, false, false, true}),
            (std::vector<LayerRun>{{0, 1}, {2, 4}, {6, 7}}));
}

TEST(LayerRuns, OfAPartAreCutAtItsEnds) {
  const ChosenLayers chosen{true, true, false, true, true};
  EXPECT_EQ(chosen_among(chosen, 1, 4), (ChosenLayers{true, false, true}));
  EXPECT_TRUE(chosen_among({}, 1, 4).empty());
}

/// Every fourth frame, by two convolutions of stride 2.
LayerSequence strides() {
  const configs::ModelConfig model{
      .features = 17,
      .family = layers::ConformerOptions{.width = 12, .heads = 3, .layers = 1, .kernel = 5}};
  return build_model(model, 9, {});
}

TEST(OutputFrames, AreThoseOfLayersInAnyOrder) {
  const LayerSequence sequence = strides();
  const auto min = min_frames(sequence);
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> frames(min, min + 300);
  OutputFrames known(sequence);
  for (int i = 0; i < 500; ++i) {
    const std::int64_t one = frames(random);
    EXPECT_EQ(known.of(one), output_frames(sequence, std::vector{one}).front()) << one;
  }
}

TEST(OutputFrames, RefuseTooShortUtterancesEachTime) {
  LayerSequence sequence{.layers = {}, .features = 3};
  sequence.layers.push_back(std::make_unique<layers::Conv1d>(layers::Conv1dOptions{
      .name = "conv", .in_channels = 3, .out_channels = 2, .kernel = 4, .stride = 3}));
  OutputFrames known(sequence);
  EXPECT_EQ(known.of(4), 1);
  EXPECT_EQ(known.of(6), 1);
  EXPECT_EQ(known.of(7), 2);
  for (int i = 0; i < 2; ++i) EXPECT_THROW((void)known.of(3), ShapeError);
}

}  // namespace
}  // namespace penstock::partition
