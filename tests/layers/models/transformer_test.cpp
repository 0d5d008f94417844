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
}

}  // namespace
}  // namespace penstock::layers
