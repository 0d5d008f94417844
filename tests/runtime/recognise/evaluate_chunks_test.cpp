#include "runtime/recognise/evaluate_chunks.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>

#include "comm/threads.h"
#include "layers/losses/ctc.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/checkpoint/safetensors/safetensors.h"
#include "runtime/text/alphabet.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/runtime/tone_checkpoint.h"
#include "tests/support/system/resident_memory.h"

namespace penstock::runtime {
namespace {

constexpr double kChunk = 1.1;

/// A checkpoint that has learned tones, and recordings of many of them.
class EvaluateChunks : public testing::Test {
 protected:
  /// Joins recordings of the training, so many times each. Returns the name of the file.
  static std::string join(const std::string& name, int times,
                          test::SoundFormat format = {0x010002, 8000}) {
    std::vector<float> sound;
    for (int i = 0; i < times; ++i)
      for (int u = 0; u < 9; ++u)
        for (const float x : read_audio(in(fmt::format("train-{}.wav", u))).samples)
          for (int c = 0; c < format.channels; ++c) sound.push_back(x);
    EXPECT_TRUE(test::write_sound(in(name), sound, format));
    return in(name);
  }
  static std::string in(const std::string& name) { return checkpoint().in(name); }
  static const test::ToneCheckpoint& checkpoint() {
    static const test::ToneCheckpoint trained({"trainer.steps=120"});
    return trained;
  }

  static test::Transcribed hear(const std::vector<Recording>& recordings, double chunk = kChunk,
                                const test::RecognitionLayout& layout = {},
                                const std::string& logits = {}) {
    Transcription list;
    if (!logits.empty()) list.logits = in(logits);
    return checkpoint().transcribe(recordings, layout, list, {.chunking = {.seconds = chunk}});
  }

  static std::vector<float> logits(const std::string& name, std::size_t recording) {
    const SafetensorsFile file(in(name));
    const auto bytes = file.bytes(file.entry(fmt::format("{:05}", recording)));
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
};

TEST_F(EvaluateChunks, JoinsTheLogitsOfSegments) {
  const std::string file = join("long.wav", 2);
  const AudioLength length = audio_length(file);
  ASSERT_EQ(hear({{file}}, kChunk, {}, "joined").faults(), (std::vector<std::string>{""}));

  Trained trained{in("output")};
  std::vector<AudioChunk> chunks;
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    const Recogniser recogniser(trained, world, Scoring::none);
    chunks = AudioChunks({.seconds = kChunk}, recogniser.sequence(), recogniser.config().features)
                 .cut(length);
  });
  ASSERT_GT(chunks.size(), 8u);
  std::vector<Recording> segments;
  for (const AudioChunk& chunk : chunks)
    segments.push_back({file, Segment{static_cast<double>(chunk.samples.first) / length.rate,
                                      static_cast<double>(chunk.samples.samples) / length.rate}});
  ASSERT_EQ(checkpoint().transcribe(segments, {}, {.logits = in("segments")}).counts.failed, 0);
  std::vector<float> expected;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const auto rows = logits("segments", i);
    const auto first = rows.begin() + chunks[i].skipped * 5;
    expected.insert(expected.end(), first, first + chunks[i].counted * 5);
  }
  EXPECT_EQ(logits("joined", 0), expected);
}

TEST_F(EvaluateChunks, DecodesTheJoinedLogits) {
  const auto found = hear({{join("long.wav", 2)}}, kChunk, {}, "joined");
  configs::TextConfig text;
  text.alphabet = "abcd";
  const std::string decoded =
      Alphabet(text).decode(layers::ctc_greedy_labels(logits("joined", 0), 5, 5));
  EXPECT_EQ(found.texts().front(), decoded);
  EXPECT_GT(decoded.size(), 20u);
}

/// Three long recordings and two short ones.
TEST_F(EvaluateChunks, EveryLayoutMakesTheSameBits) {
  const std::vector<Recording> list = {{join("a.wav", 1)},
                                       {in("test-0.wav")},
                                       {join("b.wav", 2)},
                                       {in("test-1.wav")},
                                       {in("b.wav"), Segment{0.31, 3.3}}};
  std::string bytes;
  std::vector<std::string> texts;
  for (const auto& layout : test::kRecognitionLayouts) {
    const auto found = hear(list, kChunk, layout, "logits");
    EXPECT_EQ(found.counts.failed, 0);
    if (bytes.empty()) {
      bytes = test::read_file(in("logits"));
      texts = found.texts();
    }
    EXPECT_TRUE(test::read_file(in("logits")) == bytes) << layout.ranks << " ranks";
    EXPECT_EQ(found.texts(), texts) << layout.ranks << " ranks";
  }
  EXPECT_NE(texts[0], texts[2]);
  const auto alone = checkpoint().transcribe({{in("test-0.wav")}, {in("test-1.wav")}}, {},
                                             {.logits = in("alone")});
  for (const std::size_t u : {0u, 1u}) {
    EXPECT_EQ(texts[2 * u + 1], alone.texts()[u]);
    EXPECT_EQ(logits("logits", 2 * u + 1), logits("alone", u));
  }
}

TEST_F(EvaluateChunks, LeavesShortRecordingsAsTheyAre) {
  const std::vector<Recording> list = {{in("test-0.wav")}, {in("test-1.wav")}, {in("test-2.wav")}};
  (void)hear(list, 100, {}, "cut");
  (void)checkpoint().transcribe(list, {}, {.logits = in("whole")});
  EXPECT_TRUE(test::read_file(in("cut")) == test::read_file(in("whole")));
}

// A chunk of nearly all hears nearly what the whole is.
TEST_F(EvaluateChunks, TextsAreNearlyThoseOfTheWhole) {
  const std::string file = join("long.wav", 2);
  const std::string whole = checkpoint().transcribe({{file}}).texts().front();
  for (const double chunk : {1.1, 2.7, 6.0}) {
    const std::string text = hear({{file}}, chunk).texts().front();
    EXPECT_LT(count_errors(whole, text).characters.rate(), 0.1) << chunk << "\n" << text;
  }
}

// A transducer with CTC beside it has other channels before CTC's in what enters its last layer.
TEST_F(EvaluateChunks, HybridsJoinTheirCtcAlone) {
  const test::ToneCheckpoint hybrid({"trainer.steps=120", "model.decoder=rnnt", "decoder.width=12",
                                     "decoder.joint=12", "decoder.ctc_weight=0.5"});
  const std::string file = join("long.wav", 1);
  for (const int beam : {1, 4}) {
    Trained trained;
    trained.decoder = "ctc";
    trained.decoding.beam = beam;
    trained.timed = TimedTexts::recognised;
    const auto whole = hybrid.transcribe({{file}}, {}, {}, trained).transcripts.front();
    trained.chunking = {.seconds = 2};
    const auto found = hybrid.transcribe({{file}}, {2, 1}, {}, trained).transcripts.front();
    EXPECT_GT(whole.text.size(), 5u);
    EXPECT_LT(count_errors(whole.text, found.text).characters.rate(), 0.2) << found.text;
    ASSERT_EQ(found.words.value().size(), 1u);  // there are no spaces
    EXPECT_NEAR(found.words->front().end, whole.words.value().front().end, 0.3);
  }
}

TEST_F(EvaluateChunks, TakesAnySoundFile) {
  const std::string text = hear({{join("long.wav", 1)}}).texts().front();
  const std::vector<Recording> list = {{join("stereo.flac", 1, {0x170002, 8000, 2})},
                                       {join("sound.ogg", 1, {0x200060, 8000})}};
  const auto found = hear(list);
  EXPECT_EQ(found.texts()[0], text);
  EXPECT_LT(count_errors(text, found.texts()[1]).characters.rate(), 0.2) << found.texts()[1];
  std::vector<float> silence(8000 * 4);
  test::write_sound(in("silence.wav"), silence, {0x010002, 8000});
  test::write_sound(in("fast.wav"), test::make_sound(44100 * 3), {0x010002, 44100});
  const auto others = hear({{in("silence.wav")}, {in("fast.wav")}});
  EXPECT_EQ(others.counts.failed, 0);
  EXPECT_LT(others.texts()[0].size(), 3u);
}

TEST_F(EvaluateChunks, CountsErrorsOfJoinedTexts) {
  const std::string file = join("long.wav", 1);
  test::write_file(in("long.jsonl"), test::read_file(in("test.jsonl")) +
                                         R"({"audio_filepath": "long.wav", "text": "abcdabcd"})" +
                                         "\n");
  const Trained trained{.chunking = {.seconds = kChunk}};
  const test::Judged found = checkpoint().evaluate({{in("long.jsonl")}}, {}, trained);
  ASSERT_EQ(found.utterances.size(), 8u);
  const Recognised& joined = found.utterances.back();
  EXPECT_EQ(joined.reference, "abcdabcd");
  EXPECT_EQ(joined.text, hear({{file}}).texts().front());
  EXPECT_TRUE(joined.errors == count_errors(joined.reference, joined.text));
  ErrorTally expected = checkpoint().evaluate({{in("test.jsonl")}}).totals.manifests.front();
  EXPECT_GT(expected.loss, 0);
  expected += {.utterances = 1,
               .errors = joined.errors,
               .oracle_word_edits = joined.errors.words.edits,
               .in_parts = 1,
               .audio_seconds = audio_length(file).seconds()};
  for (const auto& layout : test::kRecognitionLayouts)
    EXPECT_TRUE(checkpoint().evaluate({{in("long.jsonl")}}, layout, trained).totals.manifests ==
                std::vector{expected})
        << layout.ranks << " ranks";
}

TEST_F(EvaluateChunks, ReportsARecordingThatBreaksOff) {
  const std::string file = join("long.flac", 2, {0x170002, 8000});
  std::string bytes = test::read_file(file);
  bytes.replace(bytes.size() / 2, 400, std::string(400, '\x55'));
  test::write_file(file, bytes);
  for (const test::RecognitionLayout& layout : {test::RecognitionLayout{1, 1}, {4, 2}}) {
    const auto found = hear({{in("test-0.wav")}, {file}, {join("good.wav", 1)}}, kChunk, layout);
    EXPECT_EQ(found.counts.failed, 1);
    EXPECT_NE(found.faults()[1].find("long.flac"), std::string::npos) << found.faults()[1];
    EXPECT_EQ(found.faults()[0] + found.faults()[2], "");
  }
}

// Without chunks, features of six minutes alone would take 12 MB more.
TEST_F(EvaluateChunks, MemoryDoesNotGrowWithTheRecording) {
  if (test::sanitised()) GTEST_SKIP() << "the sanitiser keeps memory of its own";
  const std::string shorter = join("shorter.wav", 9), longer = join("longer.wav", 90);
  EXPECT_GT(audio_length(longer).seconds(), 300);
  (void)hear({{shorter}});
  const auto peak = [](const std::string& file) {
    test::restart_peak();
    const std::size_t before = test::resident();
    EXPECT_EQ(hear({{file}}).counts.failed, 0);
    return test::peak_resident() - before;
  };
  const std::size_t small = peak(shorter), large = peak(longer);
  EXPECT_LT(large, small + (std::size_t{6} << 20)) << small << " and " << large;
}

}  // namespace
}  // namespace penstock::runtime
