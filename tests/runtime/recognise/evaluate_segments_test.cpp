#include "runtime/recognise/evaluate_segments.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

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

/// A decoder with CTC beside it, whose positions end before the texts of two long recordings do.
/// Between these lie the utterances of the test and a damaged recording.
class EvaluateLongTexts : public testing::Test {
 protected:
  EvaluateLongTexts() {
    std::vector<float> sound;
    for (int u = 0; u < 9; ++u)
      for (const float x : read_audio(in(fmt::format("train-{}.wav", u))).samples)
        sound.push_back(x);
    test::write_sound(in("first.wav"), sound, {0x010002, 8000});
    test::write_sound(in("b.flac"), sound, {0x170002, 8000});
    std::ranges::reverse(sound);
    test::write_sound(in("last.wav"), sound, {0x010002, 8000});
    std::string broken = test::read_file(in("b.flac"));
    broken.replace(broken.size() / 2, 400, std::string(400, '\x55'));
    test::write_file(in("b.flac"), broken);
    test::write_file(in("long.jsonl"), line("first.wav", kFirst) + line("b.flac", kFirst) +
                                           test::read_file(in("test.jsonl")) +
                                           line("last.wav", kLast));
  }
  std::string in(const std::string& name) const { return checkpoint_.in(name); }
  static std::string line(const std::string& audio, const std::string& text) {
    return fmt::format("{{\"audio_filepath\": \"{}\", \"text\": \"{}\"}}\n", audio, text);
  }

  /// Expects a recording's reference, its text as transcribed, and their errors.
  void expect_compared(const Recognised& found, const std::string& audio,
                       const std::string& reference, const Trained& trained) const {
    EXPECT_EQ(found.reference, reference);
    EXPECT_EQ(found.text, checkpoint_.transcribe({{in(audio)}}, {}, {}, trained).texts().front());
    EXPECT_TRUE(found.errors == count_errors(reference, found.text));
  }
  void expect_counted(const Trained& trained) const {
    const TestSet test{{in("long.jsonl")}};
    const test::Judged found = checkpoint_.evaluate(test, {}, trained);
    ASSERT_EQ(found.utterances.size(), 10u);
    expect_compared(found.utterances[0], "first.wav", kFirst, trained);
    EXPECT_NE(found.utterances[1].fault.find("b.flac"), std::string::npos);
    expect_compared(found.utterances[9], "last.wav", kLast, trained);
    ErrorTally expected = found.totals.manifests.front();
    EXPECT_EQ(expected.utterances, 9);
    EXPECT_EQ(expected.skipped, 1);
    EXPECT_EQ(expected.in_parts, 3);
    ErrorCount errors;
    for (const Recognised& one : found.utterances) errors += tally_of(one).errors;
    EXPECT_TRUE(expected.errors == errors);
    for (const auto& layout : test::kRecognitionLayouts)
      EXPECT_TRUE(checkpoint_.evaluate(test, layout, trained).totals.manifests.front() == expected)
          << layout.ranks << " ranks";
    // Windows of only long recordings, of both kinds, and of short ones alone.
    ErrorTally windows = checkpoint_.evaluate({test.manifests, {}, {}, {2}}, {2, 2}, trained)
                             .totals.manifests.front();
    EXPECT_TRUE(windows.errors == expected.errors);
    EXPECT_EQ(windows.in_parts, 3);
  }

  static constexpr const char *kFirst = "abcdabcdabcdabcd", *kLast = "dcbadcbadcbadcba";
  const test::ToneCheckpoint checkpoint_{
      {"trainer.steps=2", "model.decoder=attention", "decoder.width=12", "decoder.heads=2",
       "decoder.layers=1", "decoder.inner=12", "decoder.positions=learned",
       "decoder.max_positions=12", "decoder.ctc_weight=0.3", "data.failing_utterances=0.5"}};
};

TEST_F(EvaluateLongTexts, AreRefusedWhole) {
  EXPECT_NE(test::message_of<DataError>([&] {
              (void)checkpoint_.evaluate({{in("long.jsonl")}});
            }).find("longer than the decoder's positions"),
            std::string::npos);
}

TEST_F(EvaluateLongTexts, CountErrorsOfAddedTexts) {
  expect_counted({.chunking = {.seconds = kSeconds}});
}

TEST_F(EvaluateLongTexts, CountErrorsOfJoinedTexts) {
  expect_counted({.decoder = "ctc", .chunking = {.seconds = kSeconds}});
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
