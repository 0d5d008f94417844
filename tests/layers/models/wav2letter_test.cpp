#include "layers/models/wav2letter.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/layers/golden_model.h"

namespace penstock::layers {
namespace {

const Wav2LetterOptions kSmallWav2Letter{.channels = {6, 7},
                                         .kernels = {5, 4},
                                         .repeats = {1, 2},
                                         .strides = {2, 1},
                                         .dilations = {1, 2},
                                         .dropouts = {0, 0},
                                         .clip = 1.5};

test::LayerSequence small_wav2letter() {
  return kSmallWav2Letter.build({.features = 5, .labels = 7});
}

TEST(Wav2Letter, AgreesWithPyTorchInFP32) {
  test::expect_golden_model(small_wav2letter(), "wav2letter", DType::f32, {1e-5, 1e-4});
}

TEST(Wav2Letter, AgreesWithPyTorchInFP64) {
  test::expect_golden_model(small_wav2letter(), "wav2letter", DType::f64, {1e-12, 1e-9});
}

TEST(Wav2Letter, IsTheSequenceOfLayersThatItSays) {
  Wav2LetterOptions options = kSmallWav2Letter;
  options.dropouts = {0, 0.1};
  EXPECT_EQ(test::names(options.build({.features = 5})),
            (std::vector<std::string>{"block1.conv1", "block1.norm1", "block1.relu1",
                                      "block2.conv1", "block2.norm1", "block2.relu1",
                                      "block2.dropout1", "block2.conv2", "block2.norm2",
                                      "block2.relu2", "block2.dropout2", "output", "ctc"}));
}

// Kernels, channels in and out and repeats of OpenSeq2Seq's w2lplus_large, multiplied out; a scale
// and a shift of each channel.
TEST(Wav2Letter, HasTheParametersOfItsConvolutions) {
  std::int64_t count = 1024 * 29 + 29, in = 64;
  const Wav2LetterOptions plus;
  for (std::size_t b = 0; b < plus.channels.size(); ++b)
    for (int i = 0; i < plus.repeats[b]; ++i, in = plus.channels[b])
      count += in * plus.channels[b] * plus.kernels[b] + 2 * plus.channels[b];
  EXPECT_EQ(test::parameter_count(plus.build({.features = 64, .labels = 29}), 64), count);
}

TEST(Wav2Letter, HalvesTheFramesWhateverTheirNumber) {
  const auto sequence = Wav2LetterOptions().build({.features = 64});
  for (const std::int64_t frames : {1, 2, 37}) {
    ActivationDecl x{DType::f32, {{{frames}, 64}}};
    for (std::size_t i = 0; i + 1 < sequence.size(); ++i) x = sequence[i]->plan(x, {}).output;
    EXPECT_EQ(x.only().lengths[0], (frames + 1) / 2);
  }
}

TEST(Wav2Letter, RejectsListsOfUnequalLengths) {
  Wav2LetterOptions options = kSmallWav2Letter;
  options.kernels = {5};
  EXPECT_THROW(options.build({.features = 5}), ShapeError);
  EXPECT_THROW(Wav2LetterOptions{.channels = {}}.build({.features = 5}), ShapeError);
  EXPECT_THROW(kSmallWav2Letter.build({.features = 5, .labels = 1}), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
