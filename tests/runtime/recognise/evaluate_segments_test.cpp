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
    EXPECT_NE(found.faults()[2].find("empty.wav"), std::string::npos) << found.faults()[2];
    EXPECT_NE(found.faults()[3].find("b.flac"), std::string::npos) << found.faults()[3];
    if (texts.empty()) texts = found.texts();
    EXPECT_EQ(found.texts(), texts) << layout.ranks << " ranks";
  }
  const auto whole = checkpoint().transcribe({list[0], list[4]}).texts();
  EXPECT_EQ(texts[0], whole[0]);
  EXPECT_EQ(texts[4], whole[1]);
}

// The text of the long recording has more labels than the decoder has positions, and the reader of
// the damaged one finds no segment.
TEST_F(EvaluateSegments, CountsErrorsOfAddedTexts) {
  const test::ToneCheckpoint attention({"trainer.steps=2", "model.decoder=attention",
                                        "decoder.width=12", "decoder.heads=2", "decoder.layers=1",
                                        "decoder.inner=12", "decoder.positions=learned",
                                        "decoder.max_positions=12", "data.failing_utterances=0.5"});
  std::vector<float> sound;
  for (int u = 0; u < 9; ++u)
    for (const float x : read_audio(attention.in(fmt::format("train-{}.wav", u))).samples)
      sound.push_back(x);
  test::write_sound(attention.in("long.wav"), sound, {0x010002, 8000});
  test::write_sound(attention.in("b.flac"), sound, {0x170002, 8000});
  std::string broken = test::read_file(attention.in("b.flac"));
  broken.replace(broken.size() / 2, 400, std::string(400, '\x55'));
  test::write_file(attention.in("b.flac"), broken);
  const std::string text = "abcdabcdabcdabcd";
  test::write_file(attention.in("long.jsonl"),
                   test::read_file(attention.in("test.jsonl")) +
                       fmt::format("{{\"audio_filepath\": \"long.wav\", \"text\": \"{}\"}}\n"
                                   "{{\"audio_filepath\": \"b.flac\", \"text\": \"{}\"}}\n",
                                   text, text));
  const TestSet test{{attention.in("long.jsonl")}};
  EXPECT_NE(test::message_of<DataError>([&] {
              (void)attention.evaluate(test);
            }).find("longer than the decoder's positions"),
            std::string::npos);

  const Trained trained{.chunking = {.seconds = kSeconds}};
  const test::Judged found = attention.evaluate(test, {}, trained);
  ASSERT_EQ(found.utterances.size(), 9u);
  const Recognised& added = found.utterances[7];
  EXPECT_EQ(added.reference, text);
  EXPECT_EQ(added.text,
            attention.transcribe({{attention.in("long.wav")}}, {}, {}, trained).texts().front());
  EXPECT_TRUE(added.errors == count_errors(text, added.text));
  EXPECT_NE(found.utterances[8].fault.find("b.flac"), std::string::npos);
  ErrorTally expected = attention.evaluate({{attention.in("test.jsonl")}}).totals.manifests.front();
  expected += tally_of(added);
  expected.skipped = 1;
  expected.in_parts = 2;
  for (const auto& layout : test::kRecognitionLayouts) {
    ErrorTally tally = attention.evaluate(test, layout, trained).totals.manifests.front();
    tally.audio_seconds = expected.audio_seconds;
    EXPECT_TRUE(tally == expected) << layout.ranks << " ranks";
  }
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
