#include "runtime/recognise/evaluate_segments.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "runtime/data/audio/quiet_cuts.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/runtime/tone_checkpoint.h"

namespace penstock::runtime {
namespace {

constexpr double kSeconds = 2;

/// A transducer that has learned so little that it writes many labels, and a long recording.
class EvaluateSegments : public testing::Test {
 protected:
  static const test::ToneCheckpoint& checkpoint() {
    static const test::ToneCheckpoint trained(
        {"trainer.steps=2", "model.decoder=rnnt", "decoder.width=12", "decoder.joint=12"});
    return trained;
  }
  static std::string in(const std::string& name) { return checkpoint().in(name); }

  /// Joins recordings of the training.
  static std::string join(const std::string& name) {
    std::vector<float> sound;
    for (int u = 0; u < 9; ++u)
      for (const float x : read_audio(in(fmt::format("train-{}.wav", u))).samples)
        sound.push_back(x);
    EXPECT_TRUE(test::write_sound(in(name), sound, {0x010002, 8000}));
    return in(name);
  }

  static test::Transcribed hear(const std::vector<Recording>& recordings,
                                const test::RecognitionLayout& layout = {}) {
    return checkpoint().transcribe(recordings, layout, {}, {.chunking = {.seconds = kSeconds}});
  }
  static std::string refused(Trained trained) {
    return test::message_of<ConfigError>(
        [&] { (void)checkpoint().transcribe({{in("test-0.wav")}}, {}, {}, trained); });
  }
};

TEST_F(EvaluateSegments, JoinsTheTextsOfSegments) {
  const std::string file = join("long.wav");
  const AudioLength length = audio_length(file);
  std::vector<Recording> segments;
  for (const SampleRange& range : cut_where_quiet(file, {0, length.samples}, kSeconds))
    segments.push_back({file, Segment{static_cast<double>(range.first) / length.rate,
                                      static_cast<double>(range.samples) / length.rate}});
  ASSERT_GE(segments.size(), 3u);
  std::string expected;
  for (const std::string& text : checkpoint().transcribe(segments).texts())
    if (!text.empty()) expected += (expected.empty() ? "" : " ") + text;
  const auto found = hear({{file}});
  EXPECT_EQ(found.faults().front(), "");
  EXPECT_EQ(found.texts().front(), expected);
  EXPECT_GT(expected.size(), 4u);
}

TEST_F(EvaluateSegments, EveryLayoutMakesTheSameTexts) {
  test::write_file(in("empty.wav"), "");
  test::write_sound(in("b.flac"), read_audio(in("long.wav")).samples, {0x170002, 8000});
  std::string broken = test::read_file(in("b.flac"));
  broken.replace(broken.size() / 2, 400, std::string(400, '\x55'));
  test::write_file(in("b.flac"), broken);
  const std::vector<Recording> list = {
      {in("test-0.wav")}, {in("long.wav")}, {in("empty.wav")}, {in("b.flac")}, {in("test-1.wav")}};
  std::vector<std::string> texts;
  for (const auto& layout : test::kRecognitionLayouts) {
    const auto found = hear(list, layout);
    EXPECT_EQ(found.counts.failed, 2);
    EXPECT_NE(found.faults()[3].find("b.flac"), std::string::npos) << found.faults()[3];
    if (texts.empty()) texts = found.texts();
    EXPECT_EQ(found.texts(), texts) << layout.ranks << " ranks";
  }
  const auto whole = checkpoint().transcribe({list[0], list[4]}).texts();
  EXPECT_EQ(texts[0], whole[0]);
  EXPECT_EQ(texts[4], whole[1]);
}

TEST_F(EvaluateSegments, RefusesWhatSegmentsLack) {
  Trained trained;
  trained.chunking = {.seconds = 2, .overlap = 1};
  EXPECT_NE(refused(trained).find("leave out --overlap"), std::string::npos) << refused(trained);
  trained.chunking = {.seconds = 0.3};
  EXPECT_NE(refused(trained).find("give a longer --chunk"), std::string::npos) << refused(trained);
  trained.chunking = {.seconds = 2};
  trained.decoding = {.beam = 4, .nbest = 2};
  EXPECT_NE(refused(trained).find("leave out --nbest"), std::string::npos) << refused(trained);
}

}  // namespace
}  // namespace penstock::runtime
