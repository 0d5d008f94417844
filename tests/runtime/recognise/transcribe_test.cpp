#include "runtime/recognise/transcribe.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "comm/threads.h"
#include "configs/load.h"
#include "layers/losses/ctc.h"
#include "layers/models/families.h"
#include "runtime/checkpoint/safetensors/safetensors.h"
#include "runtime/data/audio/audio.h"
#include "runtime/text/alphabet.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/runtime/tone_checkpoint.h"

namespace penstock::runtime {
namespace {

class Transcribe : public testing::Test {
 protected:
  std::string in(const std::string& name) const { return checkpoint_.in(name); }
  std::vector<Recording> recordings(const std::vector<std::string>& names) const {
    std::vector<Recording> all;
    for (const std::string& name : names) all.push_back({in(name)});
    return all;
  }
  std::vector<Recording> all_seven() const {
    return recordings({"test-4.wav", "test-0.wav", "test-6.wav", "test-1.wav", "test-5.wav",
                       "test-3.wav", "test-2.wav"});
  }

  /// Puts another model in the checkpoint's place, after one step.
  void train_model(const std::string& model, const std::string& features) const {
    const std::string recipe = fmt::format(
        "[model]{}[text]\nalphabet = \"abcd\"\n[features]\nsample_rate = 8000\n{}\n[data]\n"
        "micro_batch_seconds = 2.5\ntrain = \"{}\"\n[trainer]\nsteps = 1\noutput = \"{}\"\n",
        model, features, in("train.jsonl"), in("output"));
    std::filesystem::remove_all(in("output"));
    const configs::Config config =
        configs::parse_config(recipe, "recipe.toml", layers::model_families());
    comm::run_as_threads({.ranks = 1},
                         [&](comm::Communicator& world) { (void)train({config}, world, {}); });
  }

  test::ToneCheckpoint checkpoint_;
};

TEST_F(Transcribe, EveryLayoutMakesTheSameBits) {
  std::string logits;
  std::vector<std::string> texts;
  for (const auto& layout : test::kRecognitionLayouts) {
    const std::string file = in("logits");
    const test::Transcribed found =
        checkpoint_.transcribe(all_seven(), layout, {.window = {3}, .logits = file});
    EXPECT_EQ(found.windows, (std::vector<std::size_t>{3, 3, 1}));
    EXPECT_EQ(found.counts.recordings, 7);
    EXPECT_EQ(found.counts.failed, 0);
    if (logits.empty()) {
      logits = test::read_file(file);
      texts = found.texts();
    }
    EXPECT_TRUE(test::read_file(file) == logits) << layout.ranks << " ranks";
    EXPECT_EQ(found.texts(), texts) << layout.ranks << " ranks";
  }
}

// Their neighbours change the last bits of the logits, and no text.
TEST_F(Transcribe, WindowsChangeNoText) {
  const test::ToneCheckpoint trained({"trainer.steps=40"});
  std::vector<Recording> nine;
  for (int u = 0; u < 9; ++u) nine.push_back({trained.in(fmt::format("train-{}.wav", u))});
  const auto texts = trained.transcribe(nine).texts();
  EXPECT_TRUE(std::ranges::any_of(texts, [](const std::string& text) { return text.size() > 1; }));
  for (const std::int64_t utterances : {1, 2, 4})
    EXPECT_EQ(trained.transcribe(nine, {2, 2}, {.window = {utterances}}).texts(), texts);
}

TEST_F(Transcribe, KeepsTheOrderOfTheList) {
  const auto found = checkpoint_.transcribe(recordings({"test-4.wav", "test-0.wav", "test-4.wav"}));
  ASSERT_EQ(found.transcripts.size(), 3u);
  EXPECT_EQ(found.transcripts[1].recording.audio, in("test-0.wav"));
  EXPECT_EQ(found.texts()[0], found.texts()[2]);
  EXPECT_EQ(found.transcripts[0].seconds, audio_length(in("test-4.wav")).seconds());
  EXPECT_TRUE(checkpoint_.transcribe({}).transcripts.empty());
}

// Lists may be endless.
TEST_F(Transcribe, AsksForNoMoreThanAWindow) {
  int asked = 0;
  std::size_t max = 0, taken = 0;
  Transcription list{.window = {2}};
  list.next = [&]() -> std::optional<Recording> {
    if (asked == 11) return std::nullopt;
    ++asked;
    max = std::max(max, static_cast<std::size_t>(asked) - taken);
    return Recording{in(fmt::format("test-{}.wav", asked % 7))};
  };
  Trained trained{in("output")};
  list.take = [&](std::span<const Transcript> window) { taken += window.size(); };
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    EXPECT_EQ(transcribe(trained, list, world).recordings, 11);
  });
  EXPECT_EQ(taken, 11u);
  EXPECT_EQ(max, 2u);
}

TEST_F(Transcribe, PutsFaultsInTheirPlaces) {
  test::write_sound(in("slow.wav"), test::make_sound(100), {0x010002, 1});
  test::write_file(in("empty.wav"), "");
  auto list = recordings({"slow.wav", "test-0.wav", "gone.wav", "test-1.wav", "empty.wav"});
  list.push_back({.fault = "list.jsonl:6: is no object"});
  for (const auto& layout : test::kRecognitionLayouts) {
    const auto found =
        checkpoint_.transcribe(list, layout, {.window = {4}, .logits = in("logits")});
    EXPECT_EQ(found.counts.recordings, 6);
    EXPECT_EQ(found.counts.failed, 4);
    const auto faults = found.faults();
    ASSERT_EQ(faults.size(), 6u);
    EXPECT_NE(faults[0].find("slow.wav: cannot resample 1 Hz"), std::string::npos) << faults[0];
    EXPECT_EQ(faults[1] + faults[3], "");
    EXPECT_NE(faults[2].find("gone.wav: no such file"), std::string::npos) << faults[2];
    EXPECT_NE(faults[4].find("empty.wav: empty"), std::string::npos) << faults[4];
    EXPECT_EQ(faults[5], "list.jsonl:6: is no object");
    const SafetensorsFile file(in("logits"));
    ASSERT_EQ(file.entries().size(), 6u);
    EXPECT_EQ(file.entry("00002").shape[0], 0u);
    EXPECT_GT(file.entry("00003").shape[0], 0u);
  }
}

TEST_F(Transcribe, WritesNoLogitsOfFaultsAlone) {
  const auto found =
      checkpoint_.transcribe(recordings({"gone.wav"}), {2, 1}, {.logits = in("logits")});
  EXPECT_EQ(found.counts.failed, 1);
  EXPECT_FALSE(std::filesystem::exists(in("logits")));
}

TEST_F(Transcribe, ASegmentIsWhatItHolds) {
  const Audio whole = read_audio(in("test-4.wav"));
  const double from = 401.0 / whole.rate, seconds = 2002.0 / whole.rate;
  const std::vector<float> part(whole.samples.begin() + 401, whole.samples.begin() + 2403);
  test::write_sound(in("part.wav"), part, {0x010002, whole.rate});
  const Recording segment{in("test-4.wav"), Segment{from, seconds}};
  for (const auto& [name, recording] :
       {std::pair("part", Recording{in("part.wav")}), std::pair("segment", segment)})
    EXPECT_EQ(checkpoint_.transcribe({recording}, {}, {.logits = in(name)}).counts.failed, 0);
  EXPECT_TRUE(test::read_file(in("part")) == test::read_file(in("segment")));
  const auto behind = checkpoint_.transcribe({{in("test-4.wav"), Segment{100, 1}}});
  EXPECT_NE(behind.faults()[0].find("test-4.wav: its offset is 100 s"), std::string::npos);
}

TEST_F(Transcribe, LogitsDecodeToTheTexts) {
  const auto texts = checkpoint_.transcribe(all_seven(), {2, 2}, {.logits = in("logits")}).texts();
  const SafetensorsFile file(in("logits"));
  ASSERT_EQ(file.entries().size(), texts.size());
  configs::TextConfig text;
  text.alphabet = "abcd";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const SafetensorsEntry& entry = file.entry(fmt::format("{:05}", i));
    EXPECT_EQ(entry.dtype, "F32");
    ASSERT_EQ(entry.shape.size(), 2u);
    EXPECT_EQ(entry.shape[1], 5u);
    std::vector<float> logits_FC(entry.shape[0] * entry.shape[1]);
    ASSERT_EQ(file.bytes(entry).size(), logits_FC.size() * sizeof(float));
    std::memcpy(logits_FC.data(), file.bytes(entry).data(), file.bytes(entry).size());
    EXPECT_EQ(Alphabet(text).decode(layers::ctc_greedy_labels(logits_FC, 5, 5)), texts[i]);
    EXPECT_LT(*std::ranges::min_element(logits_FC), 0);  // no probabilities
  }
}

TEST_F(Transcribe, NamesARecordingTooShortForTheModel) {
  train_model(R"(
kind = "wav2vec2"
features = 1
channels = 6
kernels = [10, 3]
strides = [5, 4]
width = 12
heads = 3
layers = 1
inner = 20
position_kernel = 6
position_groups = 3
)",
              "kind = \"waveform\"");
  test::write_sound(in("enough.wav"), test::make_sound(20), {0x010002, 8000});
  test::write_sound(in("short.wav"), test::make_sound(19), {0x010002, 8000});
  const auto found = checkpoint_.transcribe(recordings({"short.wav", "enough.wav"}));
  EXPECT_NE(found.faults()[0].find("short.wav: its 0.002375 s do not fit the model: "),
            std::string::npos)
      << found.faults()[0];
  EXPECT_EQ(found.faults()[0].find("--chunk"), std::string::npos) << found.faults()[0];
  EXPECT_EQ(found.faults()[1], "");
}

// The model has positions for two seconds.
TEST_F(Transcribe, ProposesChunksOfTooLongRecordings) {
  train_model(R"(
kind = "whisper"
features = 20
width = 12
heads = 3
layers = 1
inner = 20
max_frames = 100
)",
              "kind = \"whisper\"\nmels = 20\nwindow_ms = 25\nhop_ms = 10\nwindow = \"hann\"");
  test::write_sound(in("long.wav"), test::make_sound(50000), {0x010002, 8000});
  test::write_sound(in("fits.wav"), test::make_sound(16000), {0x010002, 8000});
  const auto list = recordings({"long.wav", "fits.wav"});
  const auto refused = checkpoint_.transcribe(list).faults();
  EXPECT_NE(refused[0].find("long.wav: its 6.25"), std::string::npos) << refused[0];
  EXPECT_TRUE(refused[0].ends_with(". Hear it in parts, by --chunk 2")) << refused[0];
  EXPECT_EQ(refused[1], "");
  const auto found = checkpoint_.transcribe(list, {}, {}, {.chunking = {.seconds = 2}});
  EXPECT_EQ(found.faults(), (std::vector<std::string>{"", ""}));
  const std::string said = test::message_of<ConfigError>(
      [&] { (void)checkpoint_.transcribe(list, {}, {}, {.chunking = {.seconds = 2.1}}); });
  EXPECT_NE(said.find("--chunk 2.1: so many seconds do not fit the model"), std::string::npos)
      << said;
}

}  // namespace
}  // namespace penstock::runtime
