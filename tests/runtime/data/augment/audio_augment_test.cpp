#include "runtime/data/augment/audio_augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <set>

#include "base/error.h"
#include "runtime/data/audio/audio.h"
#include "runtime/data/audio/resample.h"
#include "runtime/data/augment/add_noise.h"
#include "runtime/data/augment/reverberate.h"
#include "runtime/data/augment/speech_codecs.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

constexpr int kFloatWav = 0x010006;

class AudioAugmentTest : public testing::Test {
 protected:
  /// Lists files with these samples.
  SoundList list(const std::string& name, const std::vector<std::vector<float>>& sounds,
                 int rate = 8000) {
    std::vector<AudioSource> sources;
    for (const std::vector<float>& sound : sounds) {
      const auto file = folder_.path() / (name + std::to_string(sources.size()) + ".wav");
      test::write_sound(file, sound, {kFloatWav, rate});
      sources.push_back({file, {std::ssize(sound), rate}});
    }
    return {.count = sources.size(), .at = [sources](std::uint64_t id) { return sources.at(id); }};
  }

  static std::vector<float> augmented(const AudioAugment& augment, const UtteranceDraw& draw,
                                      std::vector<float> samples) {
    augment.apply(draw, samples);
    return samples;
  }

  test::TemporaryFolder folder_;
  std::vector<float> speech_ = test::make_sound(1001, 1);
};

TEST_F(AudioAugmentTest, ChangesNothingWithoutKeys) {
  EXPECT_FALSE(configs::AugmentConfig().changes_audio());
  EXPECT_EQ(augmented(AudioAugment({}, 8000, 3, {}), {1, 2}, speech_), speech_);
}

TEST_F(AudioAugmentTest, DependsOnSeedAndDrawAlone) {
  const AugmentSounds sounds{list("room", {{0, 1, 0.5, 0.2}, {1, -0.3}}),
                             list("noise", {test::make_sound(5000, 7), test::make_sound(333, 8)})};
  const configs::AugmentConfig config{.gain_db = {-10, 10},
                                      .codecs = {"g711-mulaw", "gsm", "band-300-3400"}};
  const AudioAugment augment(config, 8000, 3, sounds);
  const std::vector<float> one = augmented(augment, {1, 2, 0}, speech_);
  EXPECT_EQ(one.size(), speech_.size());
  (void)augmented(augment, {7, 7, 0}, speech_);
  EXPECT_EQ(augmented(augment, {1, 2, 0}, speech_), one);
  EXPECT_EQ(augmented(AudioAugment(config, 8000, 3, sounds), {1, 2, 0}, speech_), one);
  EXPECT_NE(augmented(augment, {2, 2, 0}, speech_), one);
  EXPECT_NE(augmented(augment, {1, 3, 0}, speech_), one);
  EXPECT_NE(augmented(augment, {1, 2, 1}, speech_), one);
  EXPECT_NE(augmented(AudioAugment(config, 8000, 4, sounds), {1, 2, 0}, speech_), one);
}

/// A noise that counts its samples shows which part of it is heard.
TEST_F(AudioAugmentTest, CutsNoiseAnywhere) {
  std::vector<float> ramp(2000);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = 1 + static_cast<float>(i);
  const AudioAugment augment({.noise_snr_db = {0, 0}}, 8000, 3, {{}, list("noise", {ramp})});
  std::set<int> firsts;
  for (std::uint64_t id = 0; id < 40; ++id) {
    const std::vector<float> after = augmented(augment, {0, id}, speech_);
    const double a = after[0] - speech_[0], b = after[100] - speech_[100];
    const double scale = (b - a) / 100, first = a / scale - 1;
    firsts.insert(static_cast<int>(std::lround(first)));
    for (std::size_t i = 0; i < after.size(); i += 50)
      EXPECT_NEAR(after[i], speech_[i] + scale * (1 + first + static_cast<double>(i)), 1e-4);
  }
  EXPECT_GT(firsts.size(), 30u);
  EXPECT_GE(*firsts.begin(), 0);
  EXPECT_LE(*firsts.rbegin(), 999);
  EXPECT_GT(*firsts.rbegin(), 800);
}

TEST_F(AudioAugmentTest, RepeatsShortNoise) {
  const AudioAugment augment({.noise_snr_db = {0, 0}}, 8000, 3,
                             {{}, list("noise", {test::make_sound(300, 9)})});
  const std::vector<float> after = augmented(augment, {0, 5}, speech_);
  for (std::size_t i = 0; i + 300 < after.size(); ++i)
    EXPECT_NEAR(after[i] - speech_[i], after[i + 300] - speech_[i + 300], 1e-5) << i;
}

/// The ratio of energies is drawn from the range, and noises from the whole list.
TEST_F(AudioAugmentTest, DrawsTheRatioAndTheNoise) {
  const AudioAugment augment({.noise_snr_db = {5, 20}}, 8000, 3,
                             {{}, list("noise", {{0.5f, -0.5f}, {0.1f}})});
  double least = 100, most = -100;
  int first = 0;
  for (std::uint64_t id = 0; id < 200; ++id) {
    std::vector<float> added = augmented(augment, {0, id}, speech_);
    for (std::size_t i = 0; i < added.size(); ++i) added[i] -= speech_[i];
    const double snr = 10 * std::log10(energy(speech_) / energy(added));
    least = std::min(least, snr);
    most = std::max(most, snr);
    first += added[0] * added[1] < 0;
  }
  EXPECT_NEAR(least, 5, 0.5);
  EXPECT_NEAR(most, 20, 0.5);
  EXPECT_GT(least, 4.99);
  EXPECT_LT(most, 20.01);
  EXPECT_NEAR(first, 100, 30);
}

/// Returns the share of the energy that a tone of `hertz` at 8 kHz has.
double share_of_tone(const std::vector<float>& x, double hertz) {
  std::complex<double> sum = 0;
  double all = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += static_cast<double>(x[i]) *
           std::polar(1.0, 2 * std::numbers::pi * hertz * static_cast<double>(i) / 8000);
    all += std::pow(x[i], 2);
  }
  return 2 * std::norm(sum) / (static_cast<double>(x.size()) * all);
}

TEST_F(AudioAugmentTest, ResamplesNoiseOfAnotherRate) {
  std::vector<float> noise(40000);
  for (std::size_t i = 0; i < noise.size(); ++i)
    noise[i] =
        static_cast<float>(std::sin(2 * std::numbers::pi * 1000 * static_cast<double>(i) / 22050));
  const AudioAugment augment({.noise_snr_db = {0, 0}}, 8000, 3,
                             {{}, list("noise", {noise}, 22050)});
  std::vector<float> added = augmented(augment, {0, 1}, speech_);
  ASSERT_EQ(added.size(), speech_.size());
  for (std::size_t i = 0; i < added.size(); ++i) added[i] -= speech_[i];
  EXPECT_GT(share_of_tone(added, 1000), 0.99);
  EXPECT_LT(share_of_tone(added, 2756), 0.01);
  std::vector<float> one(1, 0.5f);
  EXPECT_NO_THROW(augment.apply({0, 2}, one));
}

/// An echo after 0.1 s comes 800 samples later at 8 kHz.
TEST_F(AudioAugmentTest, ResamplesRoomsOfAnotherRate) {
  std::vector<float> room(4000, 0.0f);
  room[0] = 1;
  room[2205] = 0.5f;
  const AudioAugment augment({}, 8000, 3, {list("room", {room}, 22050), {}});
  std::vector<float> click(1001, 0.0f);
  click[100] = 1;
  const std::vector<float> heard = augmented(augment, {0, 1}, click);
  const auto loudest = [&](std::ptrdiff_t first) {
    return std::max_element(heard.begin() + first, heard.end()) - heard.begin();
  };
  EXPECT_EQ(loudest(0), 100);
  EXPECT_EQ(loudest(500), 900);
}

TEST_F(AudioAugmentTest, AppliesEffectsInTheOrderOfACall) {
  const std::vector<float> room{0, 0.2f, 1, 0.5f, -0.2f}, noise(2000, 0.25f);
  const AugmentSounds sounds{list("room", {room}), list("noise", {noise})};
  const AudioAugment augment({.noise_snr_db = {3, 3}, .gain_db = {-6, -6}, .codecs = {"g711-alaw"}},
                             8000, 3, sounds);
  std::vector<float> expected = speech_;
  reverberate(expected, room);
  add_noise(expected, std::span(noise).first(expected.size()), 3);
  apply_gain(expected, -6);
  pass_codec({.kind = configs::Codec::Kind::alaw}, 8000, expected);
  EXPECT_EQ(augmented(augment, {1, 2}, speech_), expected);
}

/// The effects that are drawn are those that are heard, done by hand here: in a room, from a sample
/// of a noise on, by a gain and through a codec.
TEST_F(AudioAugmentTest, AppliesWhatItDraws) {
  const AugmentSounds sounds{list("room", {{1, 0.5f}, {0.3f, 1, -0.2f}}),
                             list("noise", {test::make_sound(2000, 7), test::make_sound(3000, 8)})};
  const AudioAugment augment({.room_share = 0.5,
                              .noise_share = 0.5,
                              .gain_db = {-6, 6},
                              .codecs = {"g711-mulaw", "g711-alaw"},
                              .codec_share = 0.5},
                             8000, 3, sounds);
  std::set<std::size_t> codecs;
  int rooms = 0, noises = 0;
  for (std::uint64_t id = 0; id < 60; ++id) {
    const AudioEffects effects = augment.drawn({4, id}, std::ssize(speech_));
    std::vector<float> expected = speech_;
    if (effects.room) reverberate(expected, read_audio(effects.room->audio).samples);
    if (effects.noise) {
      const std::vector<float> noise = read_audio(effects.noise->source.audio).samples;
      add_noise(
          expected,
          std::span(noise).subspan(static_cast<std::size_t>(effects.noise->first), expected.size()),
          effects.noise->snr_db);
    }
    apply_gain(expected, effects.gain_db);
    if (effects.codec)
      pass_codec(
          {.kind = *effects.codec == 0 ? configs::Codec::Kind::mulaw : configs::Codec::Kind::alaw},
          8000, expected);
    EXPECT_EQ(augmented(augment, {4, id}, speech_), expected) << id;
    rooms += effects.room.has_value();
    noises += effects.noise.has_value();
    if (effects.codec) codecs.insert(*effects.codec);
  }
  EXPECT_NEAR(rooms, 30, 15);
  EXPECT_NEAR(noises, 30, 15);
  EXPECT_EQ(codecs.size(), 2u);
}

TEST_F(AudioAugmentTest, ChangesAShareOfTheUtterances) {
  const AugmentSounds sounds{list("room", {{1, 0.5f}}), list("noise", {{0.5f, -0.5f}})};
  const auto changed = [&](const configs::AugmentConfig& config, const AugmentSounds& of) {
    const AudioAugment augment(config, 8000, 3, of);
    int count = 0;
    for (std::uint64_t id = 0; id < 300; ++id)
      count += augmented(augment, {0, id}, speech_) != speech_;
    return count;
  };
  EXPECT_NEAR(changed({.room_share = 0.3}, {sounds.rooms, {}}), 90, 25);
  EXPECT_NEAR(changed({.noise_share = 0.7}, {{}, sounds.noises}), 210, 25);
  EXPECT_NEAR(changed({.codecs = {"g711-alaw"}, .codec_share = 0.5}, {}), 150, 27);
}

TEST_F(AudioAugmentTest, NamesANoiseThatIsGone) {
  const AugmentSounds sounds{{}, list("noise", {{0.5f, -0.5f}})};
  std::filesystem::remove(folder_.path() / "noise0.wav");
  try {
    (void)augmented(AudioAugment({}, 8000, 3, sounds), {0, 1}, speech_);
    FAIL();
  } catch (const DataError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("noise0.wav: no such file"), std::string::npos) << what;
    EXPECT_NE(what.find("(augment.noise: restore it"), std::string::npos) << what;
  }
}

}  // namespace
}  // namespace penstock::runtime
