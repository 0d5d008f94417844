#include "layers/models/transformer.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/layers/golden_model.h"

namespace penstock::layers {
namespace {

const TransformerOptions kSmallTransformer{
    .channels = 12, .width = 12, .heads = 3, .layers = 2, .inner = 20};

test::LayerSequence small_transformer() {
  return kSmallTransformer.build({.features = 11, .labels = 7});
}

TEST(Transformer, AgreesWithPyTorchInFP32) {
  test::expect_golden_model(small_transformer(), "transformer", DType::f32, {1e-5, 1e-4});
}

TEST(Transformer, AgreesWithPyTorchInFP64) {
  test::expect_golden_model(small_transformer(), "transformer", DType::f64, {1e-12, 1e-9});
}

test::LayerSequence absolute_transformer() {
  TransformerOptions options = kSmallTransformer;
  options.positions = "absolute";
  return options.build({.features = 11, .labels = 7});
}

TEST(Transformer, WithAbsolutePositionsAgreesInFP32) {
  test::expect_golden_model(absolute_transformer(), "transformer_absolute", DType::f32,
                            {1e-5, 1e-4});
}

TEST(Transformer, WithAbsolutePositionsAgreesInFP64) {
  test::expect_golden_model(absolute_transformer(), "transformer_absolute", DType::f64,
                            {1e-12, 1e-9});
}

test::LayerSequence gated_transformer() {
  TransformerOptions options = kSmallTransformer;
  options.activation = "swiglu";
  options.norm = "rms";
  options.left_context = 0;
  options.right_context = 3;
  return options.build({.features = 11, .labels = 7});
}

TEST(Transformer, WithGatesAndContextAgreesInFP32) {
  test::expect_golden_model(gated_transformer(), "transformer_gated", DType::f32, {1e-5, 1e-4});
}

TEST(Transformer, WithGatesAndContextAgreesInFP64) {
  test::expect_golden_model(gated_transformer(), "transformer_gated", DType::f64, {1e-12, 1e-9});
}

TEST(Transformer, AddsAbsolutePositionsBeforeTheFirstBlock) {
  EXPECT_EQ(test::names(TransformerOptions{.layers = 1, .positions = "absolute"}.build({})),
            (std::vector<std::string>{"subsampling.conv1", "subsampling.relu1", "subsampling.conv2",
                                      "subsampling.relu2", "subsampling.linear", "positions",
                                      "block1.attention", "block1.feed_forward", "norm", "output",
                                      "ctc"}));
}

TEST(Transformer, IsTheSequenceOfLayersThatItSays) {
  EXPECT_EQ(test::names(TransformerOptions{.layers = 1}.build({.features = 80})),
            (std::vector<std::string>{"subsampling.conv1", "subsampling.relu1", "subsampling.conv2",
                                      "subsampling.relu2", "subsampling.linear", "block1.attention",
                                      "block1.feed_forward", "norm", "output", "ctc"}));
}

TEST(Transformer, RejectsSizesThatMakeNoModel) {
  EXPECT_THROW((TransformerOptions{.width = 10, .heads = 4}.build({})), ShapeError);
  EXPECT_THROW((TransformerOptions{.width = 12, .heads = 4}.build({})), ShapeError);  // 3 each
  EXPECT_THROW((TransformerOptions{.layers = 0}.build({})), ShapeError);
  EXPECT_THROW((TransformerOptions{.positions = "learned"}.build({})), ShapeError);
  EXPECT_THROW((TransformerOptions{.activation = "relu"}.build({})), ShapeError);
  EXPECT_THROW((TransformerOptions{.norm = "group"}.build({})), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
