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

test::LayerSequence nearby_conformer() {
  ConformerOptions options = kSmallConformer;
  options.left_context = 2;
  options.right_context = 1;
  return options.build({.features = 11, .labels = 7});
}

TEST(Conformer, WithContextAgreesInFP32) {
  test::expect_golden_model(nearby_conformer(), "conformer_context", DType::f32, {1e-5, 1e-4});
}

TEST(Conformer, WithContextAgreesInFP64) {
  test::expect_golden_model(nearby_conformer(), "conformer_context", DType::f64, {1e-12, 1e-9});
}

const ConformerOptions kSmallFastConformer{.width = 8,
                                           .heads = 2,
                                           .layers = 2,
                                           .kernel = 5,
                                           .subsampling = 8,
                                           .channels = 6,
                                           .scale_input = true};

test::LayerSequence small_fast_conformer() {
  return kSmallFastConformer.build({.features = 16, .labels = 11});
}

TEST(FastConformer, AgreesWithTransformersInEvaluation) {
  test::expect_golden_evaluation(small_fast_conformer(), "parakeet_evaluation", DType::f32, 1e-5);
}

TEST(FastConformer, HasTransformersGradientsOnEqualLengths) {
  test::expect_golden_model(small_fast_conformer(), "parakeet_equal", DType::f32, {1e-5, 1e-4});
}

// Batch norm of transformers counts padding; here it was told the real frames.
TEST(FastConformer, HasTransformersGradientsOnARaggedBatch) {
  test::expect_golden_model(small_fast_conformer(), "parakeet", DType::f32, {1e-5, 1e-4});
}

TEST(FastConformer, IsTheSequenceOfLayersThatItSays) {
  EXPECT_EQ(test::names(ConformerOptions{
                .layers = 1, .subsampling = 8, .scale_input = true, .input_dropout = 0.1}
                            .build({.features = 80})),
            (std::vector<std::string>{
                "subsampling.conv1", "subsampling.relu1", "subsampling.conv2",
                "subsampling.pointwise2", "subsampling.relu2", "subsampling.conv3",
                "subsampling.pointwise3", "subsampling.relu3", "subsampling.linear",
                "subsampling.scale", "input_dropout", "block1.feed_forward1", "block1.attention",
                "block1.convolution", "block1.feed_forward2", "block1.norm", "output", "ctc"}));
}

TEST(Conformer, IsTheSequenceOfLayersThatItSays) {
  EXPECT_EQ(test::names(ConformerOptions{.layers = 1}.build({.features = 80})),
            (std::vector<std::string>{
                "subsampling.conv1", "subsampling.relu1", "subsampling.conv2", "subsampling.relu2",
                "subsampling.linear", "block1.feed_forward1", "block1.attention",
                "block1.convolution", "block1.feed_forward2", "block1.norm", "output", "ctc"}));
}

// Frames are scaled with the positions, and attention has no parameters of its own.
TEST(Conformer, AddsAbsolutePositionsBeforeTheFirstBlock) {
  ConformerOptions options{.layers = 1, .scale_input = true, .input_dropout = 0.1};
  const auto relative = test::parameter_count(options.build({.features = 80}), 80);
  options.positions = "absolute";
  const auto sequence = options.build({.features = 80});
  EXPECT_EQ(test::names(sequence),
            (std::vector<std::string>{"subsampling.conv1", "subsampling.relu1", "subsampling.conv2",
                                      "subsampling.relu2", "subsampling.linear", "positions",
                                      "input_dropout", "block1.feed_forward1", "block1.attention",
                                      "block1.convolution", "block1.feed_forward2", "block1.norm",
                                      "output", "ctc"}));
  EXPECT_EQ(relative - test::parameter_count(sequence, 80), 144 * 144 + 2 * 144);
}

// Models of the same sizes made of torch.nn modules have these counts: 16 × 144, 16 × 256, 17 ×
// 512.
// The order is that of transformers, whose dropout belongs to the projection.
TEST(Conformer, MasksAfterTheDropoutAndBeforePositions) {
  ConformerOptions options{.layers = 1, .subsampling = 1, .input_dropout = 0.1};
  options.masks.time.share = 0.1;
  const auto first = [&] {
    const std::vector<std::string> names = test::names(options.build({}));
    return std::vector(names.begin() + 2, names.begin() + 4);
  };
  EXPECT_EQ(first(), (std::vector<std::string>{"input_dropout", "mask"}));
  options.positions = "absolute";
  EXPECT_EQ(first(), (std::vector<std::string>{"mask", "positions"}));
  options.masks.features = {.share = 0.1, .length = 145};
  EXPECT_EQ(options.contradictions(80).size(), 1U);
}

TEST(Conformer, HasAsManyParametersAsPyTorchs) {
  const auto parameters = [](int layers, int width, int heads) {
    const ConformerOptions options{.width = width, .heads = heads, .layers = layers};
    return test::parameter_count(options.build({.features = 80}), 80);
  };
  EXPECT_EQ(parameters(16, 144, 4), 8715053);
  EXPECT_EQ(parameters(16, 256, 4), 27334941);
  EXPECT_EQ(parameters(17, 512, 8), 115126301);
}

// transformers counts the same in ParakeetForCTC, for 80 mels.
TEST(FastConformer, HasAsManyParametersAsTransformers) {
  const auto parameters = [](int layers, int width, int heads, int labels) {
    const ConformerOptions options{.width = width,
                                   .heads = heads,
                                   .layers = layers,
                                   .kernel = 9,
                                   .subsampling = 8,
                                   .channels = 256,
                                   .scale_input = true};
    return test::parameter_count(options.build({.features = 80, .labels = labels}), 80);
  };
  EXPECT_EQ(parameters(16, 256, 4, 129), 26161793);
  EXPECT_EQ(parameters(17, 512, 8, 1025), 109287937);
  EXPECT_EQ(parameters(24, 1024, 8, 1025), 608799745);
  EXPECT_EQ(parameters(42, 1024, 8, 1025), 1062540289);
}

TEST(FastConformer, HasBiasesWhereItIsTold) {
  const auto parameters = [](bool attention, bool convolution) {
    ConformerOptions options = kSmallFastConformer;
    options.attention_bias = attention;
    options.convolution_bias = convolution;
    return test::parameter_count(options.build({.features = 16, .labels = 11}), 16);
  };
  const std::int64_t width = 8, blocks = 2;
  EXPECT_EQ(parameters(true, true) - parameters(false, true),
            blocks * (2 * (4 + 1) * width + (3 + 1) * width));
  EXPECT_EQ(parameters(true, true) - parameters(true, false), blocks * (2 + 1 + 1) * width);
}

const ConformerOptions kSmallW2vBert{.width = 12,
                                     .heads = 3,
                                     .layers = 2,
                                     .inner = 36,
                                     .kernel = 5,
                                     .causal_convolution = true,
                                     .convolution_norm = "layer",
                                     .subsampling = 1,
                                     .positions = "shaw",
                                     .left_positions = 4,
                                     .right_positions = 2,
                                     .convolution_bias = false};

TEST(W2vBert, HasTransformersGradientsOnARaggedBatch) {
  test::expect_golden_model(kSmallW2vBert.build({.features = 14, .labels = 11}), "wav2vec2_bert",
                            DType::f32, {1e-5, 1e-4});
}

TEST(W2vBert, IsTheSequenceOfLayersThatItSays) {
  ConformerOptions options = kSmallW2vBert;
  options.layers = 1;
  EXPECT_EQ(test::names(options.build({.features = 160})),
            (std::vector<std::string>{
                "projection.norm", "projection.linear", "block1.feed_forward1", "block1.attention",
                "block1.convolution", "block1.feed_forward2", "block1.norm", "output", "ctc"}));
  options.scale_input = true;
  EXPECT_EQ(test::names(options.build({.features = 160})).at(2), "projection.scale");
}

TEST(Conformer, RejectsSizesThatMakeNoModel) {
  EXPECT_THROW((ConformerOptions{.width = 10, .heads = 4}.build({})), ShapeError);
  EXPECT_THROW((ConformerOptions{.kernel = 4}.build({})), ShapeError);
  EXPECT_THROW((ConformerOptions{.layers = 0}.build({})), ShapeError);
  EXPECT_THROW((ConformerOptions{.subsampling = 6}.build({})), ShapeError);
  EXPECT_THROW((ConformerOptions{.positions = "rotary"}.build({})), ShapeError);
  EXPECT_THROW((ConformerOptions{}.build({.labels = 1})), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
