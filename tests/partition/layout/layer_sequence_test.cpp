#include "partition/layout/layer_sequence.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/models/conformer.h"
#include "layers/models/wav2vec2.h"
#include "layers/nn/linear.h"
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

}  // namespace
}  // namespace penstock::partition
