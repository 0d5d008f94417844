#include "partition/layout/output_frames.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "base/error.h"
#include "layers/models/conformer.h"
#include "layers/nn/conv1d.h"
#include "partition/layout/build_model.h"

namespace penstock::partition {
namespace {

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
