#include "runtime/data/audio/utterance_maker.h"

#include <gtest/gtest.h>

#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class UtteranceMakerTest : public testing::Test {
 protected:
  UtteranceMakerTest() {
    features_.sample_rate = 8000;
    test::write_sound(file_, test::make_sound(4001), {0x010006, 8000});
  }

  /// Makes the features of utterance 3 in epoch 2 at some speed.
  std::vector<float> made(UtteranceMaker& maker, double speed = 1) const {
    const AudioSource source{file_, {4001, 8000}};
    const BatchUtterance utterance = shape_utterance(3, source.length, speed, features_);
    std::vector<float> x_FC(static_cast<std::size_t>(utterance.frames * feature_bins(features_)));
    maker.make(source, file_, 2, utterance, x_FC);
    EXPECT_EQ(std::ssize(maker.samples()), utterance.samples);
    return x_FC;
  }

  test::TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "a.wav";
  configs::FeatureConfig features_;
};

/// A recording is augmented after its change of speed and before its features, these after that.
TEST_F(UtteranceMakerTest, AugmentsRecordingThenFeatures) {
  const configs::AugmentConfig config{
      .freq_masks = 2, .gain_db = {-9, 9}, .codecs = {"g711-mulaw"}};
  UtteranceMaker plain(features_, std::nullopt), maker(features_, Augmentation{config, 17});
  for (const double speed : {1.0, 0.9}) {
    std::vector<float> expected = made(plain, speed);
    std::vector<float> samples(plain.samples().begin(), plain.samples().end());
    AudioAugment(config, 8000, 17, {}).apply({2, 3}, samples);
    FeatureExtractor(features_).extract(samples, expected);
    SpecAugment(config, features_, 17).apply({2, 3}, expected);
    EXPECT_EQ(made(maker, speed), expected);
    EXPECT_EQ(std::vector<float>(maker.samples().begin(), maker.samples().end()), samples);
  }
}

/// Effects are told for the shapes that an utterance has at its speed, before features.stack.
TEST_F(UtteranceMakerTest, TellsTheEffectsThatItApplies) {
  const configs::AugmentConfig config{.time_masks = 3, .time_warp = 2, .gain_db = {-9, 9}};
  features_.kind = "log-mel";
  features_.stack = 2;
  const UtteranceMaker maker(features_, Augmentation{config, 17});
  const BatchUtterance utterance = shape_utterance(3, {4001, 8000}, 0.9, features_);
  const UtteranceEffects effects = maker.effects(2, utterance);
  const AudioEffects audio = AudioAugment(config, 8000, 17, {}).drawn({2, 3}, utterance.samples);
  EXPECT_EQ(effects.audio.gain_db, audio.gain_db);
  EXPECT_NE(effects.audio.gain_db, 0);
  const FeatureEffects features =
      SpecAugment(config, features_, 17).drawn({2, 3}, 2 * utterance.frames);
  EXPECT_EQ(effects.features.frames, features.frames);
  EXPECT_EQ(effects.features.warp, features.warp);
  EXPECT_TRUE(
      UtteranceMaker(features_, std::nullopt).effects(2, utterance).features.frames.empty());
}

TEST_F(UtteranceMakerTest, ChangesNothingWithoutKeys) {
  UtteranceMaker plain(features_, std::nullopt), maker(features_, Augmentation{{}, 17});
  EXPECT_EQ(made(maker), made(plain));
}

}  // namespace
}  // namespace penstock::runtime
