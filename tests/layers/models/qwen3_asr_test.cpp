#include "layers/models/qwen3_asr.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/layers/golden_model.h"

namespace penstock::layers {
namespace {

const Qwen3AsrOptions kSmall{
    .channels = 4, .window = 200, .width = 12, .heads = 3, .layers = 2, .inner = 20};

test::LayerSequence build_small() { return kSmall.build({.features = 9, .labels = 7}); }

TEST(Qwen3Asr, AgreesWithTransformersInFP32) {
  test::expect_golden_model(build_small(), "qwen3_asr", DType::f32, {1e-5, 1e-4});
}

TEST(Qwen3Asr, AgreesWithTransformersInFP64) {
  test::expect_golden_model(build_small(), "qwen3_asr", DType::f64, {1e-12, 1e-9});
}

TEST(Qwen3Asr, HasTheLogitsOfTransformers) {
  test::expect_golden_evaluation(build_small(), "qwen3_asr", DType::f32, 1e-5);
}

TEST(Qwen3Asr, IsTheSequenceOfLayersThatItSays) {
  EXPECT_EQ(
      test::names(Qwen3AsrOptions{.layers = 1}.build({.features = 80})),
      (std::vector<std::string>{
          "frontend.pad", "frontend.conv1", "frontend.act1", "frontend.conv2", "frontend.act2",
          "frontend.conv3", "frontend.act3", "frontend.linear", "positions", "block1.attention",
          "block1.feed_forward", "norm", "projector.linear", "projector.act", "output", "ctc"}));
}

TEST(Qwen3Asr, RefusesWhatIsNoModel) {
  const auto first = [](const Qwen3AsrOptions& options) {
    return options.contradictions(80).front();
  };
  EXPECT_EQ(first({.heads = 5}).key, "model.heads");
  EXPECT_EQ(first({.width = 9, .heads = 3}).key, "model.width");
  EXPECT_EQ(first({.window = 750}).key, "model.window");
  EXPECT_EQ(first({.window = 750}).what,
            "a window of 750 frames does not consist of whole chunks of 100");
  EXPECT_THROW((void)Qwen3AsrOptions{.window = 750}.build({.features = 80}), ShapeError);
  EXPECT_THROW((void)Qwen3AsrOptions{.layers = 0}.build({.features = 80}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
