#include "tools/reports/training/audio_url.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/encoded_text.h"
#include "base/error.h"
#include "runtime/data/audio/audio.h"
#include "runtime/data/audio/write_wav.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

class AudioUrl : public testing::Test {
 protected:
  JudgedText recorded(const std::vector<float>& samples, int rate) const {
    const std::filesystem::path file = folder_.path() / "recorded.wav";
    runtime::write_wav(file, samples, rate);
    return {.audio = file};
  }
  /// Returns what libsndfile reads from the URL's bytes.
  runtime::Audio heard(const JudgedText& utterance) const {
    const std::string url = audio_url(utterance), head = "data:audio/wav;base64,";
    EXPECT_TRUE(url.starts_with(head));
    const std::filesystem::path file = folder_.path() / "heard.wav";
    test::write_file(file, from_base64(url.substr(head.size())).value());
    return runtime::read_audio(file);
  }

  test::TemporaryFolder folder_;
};

TEST_F(AudioUrl, KeepsSamplesToSixteenBits) {
  const std::vector<float> samples = test::make_sound(1001);
  const runtime::Audio audio = heard(recorded(samples, 8000));
  EXPECT_EQ(audio.rate, 8000);
  ASSERT_EQ(audio.samples.size(), samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i)
    EXPECT_NEAR(audio.samples[i], std::clamp(samples[i], -1.0f, 1.0f), 1.0 / 16384);
}

TEST_F(AudioUrl, HearsTheSegmentAlone) {
  std::vector<float> samples(8000, 0);
  std::fill(samples.begin() + 4000, samples.begin() + 6000, 0.5f);
  JudgedText utterance = recorded(samples, 8000);
  utterance.offset = 0.5;
  utterance.duration = 0.25;
  const runtime::Audio audio = heard(utterance);
  ASSERT_EQ(audio.samples.size(), 2000u);
  EXPECT_GT(*std::ranges::min_element(audio.samples), 0.49f);
}

TEST_F(AudioUrl, LengthAndRateHaveBounds) {
  const runtime::Audio audio = heard(recorded(std::vector<float>(25 * 48000, 0.1f), 48000));
  EXPECT_EQ(audio.rate, kHeardRate);
  EXPECT_EQ(audio.samples.size(), static_cast<std::size_t>(kHeardSeconds * kHeardRate));
}

TEST_F(AudioUrl, LoudSamplesAreCutOff) {
  const runtime::Audio audio = heard(recorded({2.0f, -2.0f, 0.0f}, 8000));
  EXPECT_NEAR(audio.samples[0], 1, 1e-4);
  EXPECT_NEAR(audio.samples[1], -1, 1e-4);
}

TEST_F(AudioUrl, NamesAFileThatIsMissing) {
  const JudgedText missing{.audio = folder_.path() / "none.wav"};
  EXPECT_THROW((void)audio_url(missing), DataError);
}

}  // namespace
}  // namespace penstock::tools
