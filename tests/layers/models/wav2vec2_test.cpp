#include "layers/models/wav2vec2.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/error.h"
#include "layers/initialise.h"
#include "tests/support/layers/golden_model.h"

namespace penstock::layers {
namespace {

const Wav2Vec2Options kSmallWav2Vec2{.channels = 6,
                                     .kernels = {10, 3, 2},
                                     .strides = {5, 2, 2},
                                     .width = 12,
                                     .heads = 3,
                                     .layers = 2,
                                     .inner = 20,
                                     .position_kernel = 8,
                                     .position_groups = 3};

test::LayerSequence build_small(const Wav2Vec2Options& options) {
  return options.build({.features = 1, .labels = 7});
}

/// Changes the norms to those of transformers' Wav2Vec2Config().
Wav2Vec2Options with_norms_of_base(Wav2Vec2Options options) {
  options.frontend_norm = "group";
  options.frontend_bias = false;
  options.norm_first = false;
  return options;
}

Wav2Vec2Options with_mixed_norms(Wav2Vec2Options options) {
  options.frontend_bias = false;
  options.projection_norm = false;
  options.norm_first = false;
  return options;
}

/// Leaves out weight norm, as transformers' OmniASRCTCConfig() does.
Wav2Vec2Options without_weight_norm(Wav2Vec2Options options) {
  options.position_weight_norm = false;
  return options;
}

/// Adds adapters as MMS has them.
Wav2Vec2Options with_adapters(Wav2Vec2Options options) {
  options.adapter = 5;
  return options;
}

/// Root mean square of each parameter's numbers at the start.
std::map<std::string, double> initial_deviations(const test::LayerSequence& sequence) {
  std::map<std::string, double> found;
  ActivationDecl input{DType::f32, {{{}, 1}}};
  for (const auto& layer : sequence) {
    const LayerPlan plan = layer->plan(input, {});
    for (const ParamDecl& param : plan.params) {
      std::vector<double> values(static_cast<std::size_t>(element_count(param.shape)));
      initialise(param, 1, {values.data(), DType::f64, param.shape});
      double squares = 0;
      for (const double value : values) squares += value * value;
      found[param.name] = std::sqrt(squares / static_cast<double>(values.size()));
    }
    input = plan.output;
  }
  return found;
}

struct GoldenCase {
  const char* name;
  Wav2Vec2Options options;
};

struct Wav2Vec2Golden : testing::TestWithParam<GoldenCase> {};

TEST_P(Wav2Vec2Golden, AgreesWithTransformersInFP32) {
  test::expect_golden_model(build_small(GetParam().options), GetParam().name, DType::f32,
                            {1e-5, 1e-4});
}

TEST_P(Wav2Vec2Golden, AgreesWithTransformersInFP64) {
  test::expect_golden_model(build_small(GetParam().options), GetParam().name, DType::f64,
                            {1e-12, 1e-9});
}

INSTANTIATE_TEST_SUITE_P(Norms, Wav2Vec2Golden,
                         testing::Values(GoldenCase{"wav2vec2", kSmallWav2Vec2},
                                         GoldenCase{"wav2vec2_base",
                                                    with_norms_of_base(kSmallWav2Vec2)},
                                         GoldenCase{"hubert", with_mixed_norms(kSmallWav2Vec2)},
                                         GoldenCase{"omniasr", without_weight_norm(kSmallWav2Vec2)},
                                         GoldenCase{"mms", with_adapters(kSmallWav2Vec2)}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(Wav2Vec2, IsTheSequenceOfLayersThatItSays) {
  const Wav2Vec2Options options{.kernels = {10, 3}, .strides = {5, 2}, .layers = 1};
  EXPECT_EQ(test::names(options.build({.features = 1})),
            (std::vector<std::string>{
                "frontend.conv1", "frontend.norm1", "frontend.act1", "frontend.conv2",
                "frontend.norm2", "frontend.act2", "projection.norm", "projection.linear",
                "positions", "block1.attention", "block1.feed_forward", "norm", "output", "ctc"}));
}

TEST(Wav2Vec2, MasksFramesBeforeThePositionsIfTold) {
  Wav2Vec2Options options{.kernels = {10}, .strides = {5}, .layers = 1};
  options.masks.features.share = 0.1;
  EXPECT_EQ(test::names(options.build({.features = 1})),
            (std::vector<std::string>{"frontend.conv1", "frontend.norm1", "frontend.act1",
                                      "projection.norm", "projection.linear", "mask", "positions",
                                      "block1.attention", "block1.feed_forward", "norm", "output",
                                      "ctc"}));
}

TEST(Wav2Vec2, MasksNoBandsWiderThanFrames) {
  Wav2Vec2Options options = kSmallWav2Vec2;
  options.masks.features = {.share = 0.1, .length = 13};
  ASSERT_EQ(options.contradictions(1).size(), 1U);
  EXPECT_EQ(options.contradictions(1).front().key, "model.mask_feature_length");
  options.masks.features.length = 12;
  EXPECT_TRUE(options.contradictions(1).empty());
}

TEST(Wav2Vec2, EndsBlocksWithAdaptersIfTold) {
  const Wav2Vec2Options options =
      with_adapters({.kernels = {10}, .strides = {5}, .layers = 2, .norm_first = true});
  EXPECT_EQ(test::names(options.build({.features = 1})),
            (std::vector<std::string>{"frontend.conv1", "frontend.norm1", "frontend.act1",
                                      "projection.norm", "projection.linear", "positions",
                                      "block1.attention", "block1.feed_forward", "block1.adapter",
                                      "block2.attention", "block2.feed_forward", "block2.adapter",
                                      "norm", "output", "ctc"}));
}

TEST(Wav2Vec2, HasNoAdaptersInPostNormBlocks) {
  const std::vector<Contradiction> found =
      with_adapters(with_norms_of_base(kSmallWav2Vec2)).contradictions(1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().key, "model.adapter");
}

TEST(Wav2Vec2, HasNormsBehindUnitsIfTold) {
  const Wav2Vec2Options options = with_norms_of_base(
      {.kernels = {10, 3}, .strides = {5, 2}, .projection_norm = false, .layers = 1});
  EXPECT_EQ(
      test::names(options.build({.features = 1})),
      (std::vector<std::string>{
          "frontend.conv1", "frontend.norm1", "frontend.act1", "frontend.conv2", "frontend.act2",
          "projection.linear", "positions", "norm", "block1.attention", "block1.attention.norm",
          "block1.feed_forward", "block1.feed_forward.norm", "output", "ctc"}));
}

// transformers 5.24 counts the same in Wav2Vec2ForCTC(Wav2Vec2Config()) without time masks.
TEST(Wav2Vec2, HasAsManyParametersAsBaseModels) {
  const Wav2Vec2Options base = with_norms_of_base({});
  EXPECT_EQ(test::parameter_count(base.build({.features = 1, .labels = 32}), 1), 94395552);
}

std::int64_t parameters(Wav2Vec2Options options, int width, int layers, int heads, int labels) {
  options.width = width;
  options.heads = heads;
  options.layers = layers;
  options.inner = 4 * width;
  return test::parameter_count(options.build({.features = 1, .labels = labels}), 1);
}

// transformers 5.24 counts the same in OmniASRForCTC, and so do the publications.
TEST(Wav2Vec2, HasAsManyParametersAsOmniASR) {
  const Wav2Vec2Options omniasr = without_weight_norm({});
  EXPECT_EQ(parameters(omniasr, 1024, 24, 16, 10288), 325982768);
  EXPECT_EQ(parameters(omniasr, 1280, 48, 16, 10288), 975674928);
  EXPECT_EQ(parameters(omniasr, 2048, 60, 16, 10288), 3081398832);
  EXPECT_EQ(parameters(omniasr, 2048, 128, 16, 10288), 6505761328);
}

// transformers 5.23 counts the same in Wav2Vec2ForCTC without time masks; the last four are
// published as well.
TEST(Wav2Vec2, HasAsManyParametersAsTransformers) {
  EXPECT_EQ(parameters({}, 512, 12, 8, 32), 44417696);
  EXPECT_EQ(parameters({}, 1024, 24, 16, 9812), 325494996);
  EXPECT_EQ(parameters({}, 1280, 48, 16, 9812), 975065300);
  EXPECT_EQ(parameters({}, 2048, 60, 16, 9812), 3080423636);
  EXPECT_EQ(parameters({}, 2048, 128, 16, 9812), 6504786132);
}

// transformers 5.23 draws the weights with these deviations, in _init_weights.
TEST(Wav2Vec2, StartsConvolutionsAsTransformersDoes) {
  const Wav2Vec2Options options{
      .channels = 48, .kernels = {64, 6}, .strides = {10, 4}, .layers = 1};
  const auto deviations = initial_deviations(options.build({.features = 1}));
  const std::vector<std::pair<std::string, double>> expected = {
      {"frontend.conv1.weight", std::sqrt(2.0 / 64)},
      {"frontend.conv2.weight", std::sqrt(2.0 / (48 * 6))},
      {"projection.linear.weight", std::sqrt(1.0 / 48 / 3)},
  };
  for (const auto& [name, deviation] : expected)
    EXPECT_NEAR(deviations.at(name) / deviation, 1, 0.05) << name;
}

TEST(Wav2Vec2, RejectsSizesThatMakeNoModel) {
  const ModelEnds ends{.features = 1};
  EXPECT_THROW((Wav2Vec2Options{}.build({.features = 80})), ShapeError);
  EXPECT_THROW((Wav2Vec2Options{.strides = {5}}.build(ends)), ShapeError);
  EXPECT_THROW((Wav2Vec2Options{.width = 10, .heads = 4}.build(ends)), ShapeError);
  EXPECT_THROW((Wav2Vec2Options{.width = 12, .position_groups = 8}.build(ends)), ShapeError);
  EXPECT_THROW((Wav2Vec2Options{.layers = 0}.build(ends)), ShapeError);
  EXPECT_THROW((Wav2Vec2Options{}.build({.features = 1, .labels = 1})), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
