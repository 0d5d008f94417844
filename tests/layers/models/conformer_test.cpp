#include "layers/models/conformer.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/layers/golden_model.h"

namespace penstock::layers {
namespace {

const ConformerOptions kSmallConformer{.width = 12, .heads = 3, .layers = 2, .kernel = 5};

test::LayerSequence small_conformer() {
  return kSmallConformer.build({.features = 11, .labels = 7});
}

TEST(Conformer, AgreesWithPyTorchInFP32) {
  test::expect_golden_model(small_conformer(), "conformer", DType::f32, {1e-5, 1e-4});
}

TEST(Conformer, AgreesWithPyTorchInFP64) {
  test::expect_golden_model(small_conformer(), "conformer", DType::f64, {1e-12, 1e-9});
}

TEST(Conformer, IsTheSequenceOfLayersThatItSays) {
  EXPECT_EQ(test::names(ConformerOptions{.layers = 1}.build({.features = 80})),
            (std::vector<std::string>{
                "subsampling.conv1", "subsampling.relu1", "subsampling.conv2", "subsampling.relu2",
                "subsampling.linear", "block1.feed_forward1", "block1.attention",
                "block1.convolution", "block1.feed_forward2", "block1.norm", "output", "ctc"}));
}

// As models of the same sizes made of torch.nn modules count them: 16 × 144, 16 × 256, 17 × 512.
TEST(Conformer, HasAsManyParametersAsPyTorchs) {
  const auto parameters = [](int layers, int width, int heads) {
    const ConformerOptions options{.width = width, .heads = heads, .layers = layers};
    return test::parameter_count(options.build({.features = 80}), 80);
  };
  EXPECT_EQ(parameters(16, 144, 4), 8715053);
  EXPECT_EQ(parameters(16, 256, 4), 27334941);
  EXPECT_EQ(parameters(17, 512, 8), 115126301);
}

TEST(Conformer, RejectsSizesThatMakeNoModel) {
  EXPECT_THROW((ConformerOptions{.width = 10, .heads = 4}.build({})), ShapeError);
  EXPECT_THROW((ConformerOptions{.kernel = 4}.build({})), ShapeError);
  EXPECT_THROW((ConformerOptions{.layers = 0}.build({})), ShapeError);
  EXPECT_THROW((ConformerOptions{}.build({.labels = 1})), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
