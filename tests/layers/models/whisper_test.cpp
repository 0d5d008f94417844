#include "layers/models/whisper.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/layers/golden_model.h"

namespace penstock::layers {
namespace {

const WhisperOptions kSmallWhisper{
    .width = 12, .heads = 3, .layers = 2, .inner = 20, .max_frames = 31};

test::LayerSequence build_small_whisper() {
  return kSmallWhisper.build({.features = 9, .labels = 7});
}

TEST(Whisper, AgreesWithTransformersInFP32) {
  test::expect_golden_model(build_small_whisper(), "whisper", DType::f32, {1e-5, 1e-4});
}

TEST(Whisper, AgreesWithTransformersInFP64) {
  test::expect_golden_model(build_small_whisper(), "whisper", DType::f64, {1e-12, 1e-9});
}

TEST(Whisper, IsTheSequenceOfLayersThatItSays) {
  EXPECT_EQ(test::names(WhisperOptions{.layers = 1}.build({.features = 80})),
            (std::vector<std::string>{"frontend.conv1", "frontend.act1", "frontend.conv2",
                                      "frontend.act2", "positions", "block1.attention",
                                      "block1.feed_forward", "norm", "output", "ctc"}));
}

// transformers 5.24 counts 7632384 in WhisperEncoder(WhisperConfig()) of whisper-tiny without
// embed_positions, which have 1500 rows. Here there is a head.
TEST(Whisper, HasAsManyParametersAsWhisperTiny) {
  EXPECT_EQ(test::parameter_count(WhisperOptions().build({.features = 80, .labels = 29}), 80),
            7632384 + 385 * 29);
  const WhisperOptions stored{.stored_positions = true};
  EXPECT_EQ(test::parameter_count(stored.build({.features = 80, .labels = 29}), 80),
            7632384 + 1500 * 384 + 385 * 29);
}

TEST(Whisper, RefusesWhatIsNoModel) {
  EXPECT_EQ(WhisperOptions{.heads = 5}.contradictions(80).front().key, "model.heads");
  const WhisperOptions odd{.width = 9, .heads = 3};
  EXPECT_EQ(odd.contradictions(80).front().key, "model.width");
  EXPECT_THROW((void)odd.build({.features = 80}), ShapeError);
  EXPECT_THROW((void)WhisperOptions{.layers = 0}.build({.features = 80}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
