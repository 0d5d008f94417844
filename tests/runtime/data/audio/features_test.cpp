#include "runtime/data/audio/features.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "tests/support/layers/golden.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

struct FeatureCase {
  const char* name;
  configs::FeatureConfig config;
};

configs::FeatureConfig features(const char* kind, int rate, double window_ms, const char* window,
                                int fft, int mels = 80) {
  configs::FeatureConfig config;
  config.kind = kind;
  config.sample_rate = rate;
  config.window_ms = window_ms;
  config.window = window;
  config.fft = fft;
  config.mels = mels;
  return config;
}

/// Returns the settings of transformers' ParakeetFeatureExtractor.
configs::FeatureConfig parakeet_features() {
  configs::FeatureConfig config = features("log-mel", 16000, 25, "hann-symmetric", 512, 80);
  config.preemphasis = 0.97;
  config.normalise = "channel";
  config.last_frame = false;
  return config;
}

/// Returns the settings of transformers' SeamlessM4TFeatureExtractor.
configs::FeatureConfig seamless_features() {
  configs::FeatureConfig config = features("fbank", 16000, 25, "povey", 0, 80);
  config.preemphasis = 0.97;
  config.normalise = "channel";
  config.stack = 2;
  return config;
}

/// torchaudio.compliance.kaldi.fbank of 23 mels at 8 kHz; the whole utterance has one deviation.
configs::FeatureConfig kaldi_features() {
  configs::FeatureConfig config = features("fbank", 8000, 25, "povey", 0, 23);
  config.preemphasis = 0.97;
  return config;
}

/// Returns the settings of transformers' WhisperFeatureExtractor.
configs::FeatureConfig whisper_features(const char* kind, int mels) {
  return features(kind, 16000, 25, "hann", 0, mels);
}

std::vector<float> extract(const configs::FeatureConfig& config,
                           const std::vector<float>& samples) {
  std::vector<float> x_FC(
      static_cast<std::size_t>(feature_frames(std::ssize(samples), config) * feature_bins(config)));
  FeatureExtractor(config).extract(samples, x_FC);
  return x_FC;
}

class FeaturesLikeLibrosa : public testing::TestWithParam<FeatureCase> {};

TEST_P(FeaturesLikeLibrosa, AgreeInShapeAndValues) {
  const test::Golden golden(std::string("features_") + GetParam().name);
  const auto& stored = golden["samples"];
  const std::vector<float> samples(stored.begin(), stored.end());
  std::vector<float> x_FC = extract(GetParam().config, samples);
  const layers::Shape shape{feature_frames(std::ssize(samples), GetParam().config),
                            feature_bins(GetParam().config)};
  ASSERT_EQ(golden.shape("x_FC"), shape);
  EXPECT_LE(golden.error({x_FC.data(), layers::DType::f32, shape}, "x_FC"), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, FeaturesLikeLibrosa,
    testing::Values(
        FeatureCase{"spectrogram_16k", features("spectrogram", 16000, 20, "hamming", 0)},
        FeatureCase{"spectrogram_8k_hann", features("spectrogram", 8000, 20, "hann", 256)},
        FeatureCase{"spectrogram_odd", features("spectrogram", 11025, 20, "hamming", 0)},
        FeatureCase{"waveform", features("waveform", 16000, 20, "hamming", 0)},
        FeatureCase{"log_mel_16k", features("log-mel", 16000, 25, "hann", 512, 80)},
        FeatureCase{"log_mel_8k", features("log-mel", 8000, 20, "hamming", 0, 23)},
        FeatureCase{"parakeet", parakeet_features()},
        FeatureCase{"parakeet_short", parakeet_features()},
        FeatureCase{"seamless", seamless_features()},
        FeatureCase{"seamless_odd", seamless_features()},
        FeatureCase{"seamless_short", seamless_features()},
        FeatureCase{"seamless_hum", seamless_features()},
        FeatureCase{"whisper", whisper_features("whisper", 80)},
        FeatureCase{"whisper_odd", whisper_features("whisper", 128)},
        FeatureCase{"whisper_quiet", whisper_features("whisper", 80)},
        FeatureCase{"kaldi_8k", kaldi_features()}),
    [](const auto& info) { return std::string(info.param.name); });

// OmniASRFeatureExtractor of transformers computes (x - mean) / √(variance + 1e-5).
TEST(Features, AddTheEpsilonToAWaveformsVariance) {
  configs::FeatureConfig config = features("waveform", 16000, 20, "hamming", 0);
  config.epsilon = 1e-5;
  const std::vector<float> x_FC =
      extract(config, std::vector<float>{0.003f, 0.001f, -0.002f, 0.002f});
  const double deviation = std::sqrt(3.5e-6 + 1e-5);
  for (const auto& [i, sample] : {std::pair{0, 0.003}, {1, 0.001}, {2, -0.002}, {3, 0.002}})
    EXPECT_NEAR(x_FC[static_cast<std::size_t>(i)], (sample - 0.001) / deviation, 1e-6);
}

TEST(Features, HaveOneMeanAndOneDeviationAnUtterance) {
  const std::vector<float> x_FC = extract({}, test::make_sound(1777));
  double sum = 0, squares = 0;
  for (const float x : x_FC) sum += x;
  for (const float x : x_FC) squares += x * x;
  const double count = static_cast<double>(x_FC.size());
  EXPECT_NEAR(sum / count, 0, 1e-6);
  EXPECT_NEAR(squares / (count - 1), 1, 1e-6);
}

TEST(Features, SilenceBecomesZeros) {
  for (const float x : extract({}, std::vector<float>(1777))) ASSERT_EQ(x, 0);
  for (const float x : extract(parakeet_features(), std::vector<float>(1777))) ASSERT_EQ(x, 0);
}

TEST(Features, WithoutTheLastFrameAreOneLess) {
  const configs::FeatureConfig config = parakeet_features();
  for (const std::int64_t samples : {160, 319, 320, 3201})
    EXPECT_EQ(feature_frames(samples, config), samples / 160);
  EXPECT_EQ(feature_frames(159, config), 1);  // one is left to the shortest
  for (const float x : extract(config, test::make_sound(159))) ASSERT_EQ(x, 0);
}

TEST(Features, OfWhisperAreNeverNone) {
  const configs::FeatureConfig config = whisper_features("whisper", 80);
  for (const std::int64_t samples : {1, 2, 159, 160, 319, 320}) {
    const std::vector<float> x_FC = extract(config, test::make_sound(samples));
    EXPECT_EQ(std::ssize(x_FC), std::max<std::int64_t>(samples / 160, 1) * 80) << samples;
    for (const float x : x_FC) ASSERT_TRUE(std::isfinite(x)) << samples;
  }
}

// All frames of the silence that follows are equal, and transformers' first frames are stored.
TEST(Features, OfWhisperAreThoseOfThirtySeconds) {
  const configs::FeatureConfig config = whisper_features("whisper-30s", 80);
  const test::Golden golden("features_whisper_30s");
  const std::vector<double>& stored = golden["samples"];
  const std::vector<float> x_FC = extract(config, std::vector<float>(stored.begin(), stored.end()));
  ASSERT_EQ(std::ssize(x_FC), 3000 * 80);
  const std::vector<double>& first = golden["x_FC"];
  for (std::size_t i = 0; i < first.size(); ++i) ASSERT_NEAR(x_FC[i], first[i], 1e-4) << i;
  for (std::size_t i = first.size(); i < x_FC.size(); ++i)
    ASSERT_NEAR(x_FC[i], first.back(), 1e-4) << i;
  EXPECT_EQ(feature_frames(30 * 16000 + 321, config), 3002);
}

TEST(Features, OfQwen3AsrLastHalfASecond) {
  const test::Golden golden("features_qwen3_asr");
  const auto& stored = golden["samples"];
  const std::vector<float> samples(stored.begin(), stored.end());
  const configs::FeatureConfig config = whisper_features("whisper-0.5s", 128);
  std::vector<float> x_FC = extract(config, samples);
  const layers::Shape shape{50, 128};
  ASSERT_EQ(golden.shape("x_FC"), shape);
  EXPECT_LE(golden.error({x_FC.data(), layers::DType::f32, shape}, "x_FC"), 1e-4);
  EXPECT_EQ(feature_frames(8000 + 161, config), 51);
}

TEST(Features, OfAFilterBankLieWithinTheUtterance) {
  configs::FeatureConfig config = seamless_features();
  for (const auto& [samples, frames] :
       {std::pair{719, 1}, {720, 1}, {879, 1}, {880, 2}, {1040, 2}, {16000, 49}})
    EXPECT_EQ(feature_frames(samples, config), frames) << samples;
  config.stack = 1;
  for (const auto& [samples, frames] : {std::pair{400, 1}, {559, 1}, {560, 2}, {16000, 98}})
    EXPECT_EQ(feature_frames(samples, config), frames) << samples;
}

// A recording that is too short for a frame is followed by silence.
TEST(Features, OfAFilterBankAreNeverNone) {
  for (const std::int64_t samples : {1, 399, 400, 559}) {
    const std::vector<float> x_FC = extract(seamless_features(), test::make_sound(samples));
    EXPECT_EQ(std::ssize(x_FC), 160) << samples;
    for (const float x : x_FC) ASSERT_TRUE(std::isfinite(x)) << samples;
  }
}

TEST(Features, StackedAreThoseOfAdjacentFrames) {
  configs::FeatureConfig config = parakeet_features();
  const std::vector<float> samples = test::make_sound(3201);
  std::vector<float> expected = extract(config, samples);
  config.stack = 3;
  expected.resize(expected.size() / 240 * 240);
  EXPECT_EQ(extract(config, samples), expected);
}

TEST(Features, EverySampleCountHasAFrame) {
  for (const std::int64_t samples : {1, 2, 159, 160, 161, 319, 320, 321}) {
    const std::vector<float> x_FC = extract({}, test::make_sound(samples));
    EXPECT_EQ(std::ssize(x_FC), (1 + samples / 160) * 161);
    for (const float x : x_FC) ASSERT_TRUE(std::isfinite(x)) << samples;
  }
}

TEST(Features, RejectKeysThatDoNotFit) {
  configs::FeatureConfig config = features("mfcc", 16000, 20, "kaiser", 256);
  config.hop_ms = 0;
  config.normalise = "batch";
  const std::string message = test::message_of<ConfigError>([&] { frame_geometry(config); });
  for (const char* part :
       {"features.kind is \"mfcc\"", "features.window is \"kaiser\"",
        "features.normalise is \"batch\"", "features.hop_ms", "features.fft is 256", "320 samples"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " in " << message;
}

TEST(Features, RejectAnOutputOfAnotherSize) {
  std::vector<float> room(160);
  FeatureExtractor extractor({});
  EXPECT_THROW(extractor.extract(test::make_sound(100), room), ShapeError);
}

TEST(Features, HaveThePointsOfTheirWindow) {
  const std::vector<double> periodic = make_window("hann", 4), symmetric = make_window("povey", 3);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(periodic[i], std::vector<double>({0, 0.5, 1, 0.5})[i], 1e-15);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(symmetric[i], std::vector<double>({0, 1, 0})[i], 1e-15);
}

}  // namespace
}  // namespace penstock::runtime
