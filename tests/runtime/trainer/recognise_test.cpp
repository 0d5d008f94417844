#include "runtime/trainer/recognise.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "comm/threads.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "partition/model/build_model.h"
#include "runtime/checkpoint/safetensors.h"
#include "runtime/text/alphabet.h"
#include "runtime/text/greedy.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// A checkpoint of one step, and seven utterances to judge it by.
class Recognise : public testing::Test {
 protected:
  Recognise() {
    test::write_tone_corpus(in("train.jsonl"), 9, 1);
    test::write_tone_corpus(in("test.jsonl"), 7, 2);
    const std::vector<std::string> overrides = {"trainer.steps=1", "data.validation="};
    const configs::Config config =
        configs::parse_config(test::tone_recipe(in("train.jsonl"), "", in("output")), "recipe.toml",
                              layers::model_families(), overrides);
    comm::run_as_threads({.ranks = 1},
                         [&](comm::Communicator& world) { train({config}, world, {}); });
  }
  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  /// The reports of so many ranks.
  std::vector<EvaluationReport> evaluate(const TestSet& test, int ranks) const {
    std::vector<EvaluationReport> reports(ranks);
    comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
      reports[world.rank()] = evaluate_checkpoint({in("output")}, test, world);
    });
    return reports;
  }
  std::vector<std::string> transcripts(const std::vector<std::filesystem::path>& recordings,
                                       int ranks) const {
    std::vector<std::string> found;
    comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
      const auto texts = transcribe({in("output")}, recordings, world);
      if (world.rank() == 0) found = texts;
    });
    return found;
  }

  test::TemporaryFolder folder_;
};

TEST_F(Recognise, AnyNumberOfRanksGetsTheSameReport) {
  const EvaluationReport alone = evaluate({in("test.jsonl")}, 1).front();
  EXPECT_EQ(alone.step, 1);
  EXPECT_EQ(alone.utterances, 7);
  EXPECT_EQ(alone.skipped, 0);
  EXPECT_GT(alone.loss, 0);
  EXPECT_GT(alone.characters, 14);  // two letters or more each
  EXPECT_DOUBLE_EQ(alone.cer, static_cast<double>(alone.character_edits) / alone.characters);
  for (const EvaluationReport& report : evaluate({in("test.jsonl")}, 3)) {
    EXPECT_EQ(report.loss, alone.loss);
    EXPECT_EQ(report.character_edits, alone.character_edits);
    EXPECT_EQ(report.word_edits, alone.word_edits);
    EXPECT_EQ(report.utterances, 7);
  }
}

TEST_F(Recognise, SkipsWhatItCannotUseOnlyIfAsked) {
  test::write_file(in("test.jsonl"), test::read_file(in("test.jsonl")) + "nonsense\n");
  const std::string message = test::message_of<DataError>([&] { evaluate({in("test.jsonl")}, 1); });
  EXPECT_NE(message.find("--skip-bad"), std::string::npos) << message;
  for (const EvaluationReport& report : evaluate({in("test.jsonl"), true}, 2)) {
    EXPECT_EQ(report.utterances, 7);
    EXPECT_EQ(report.skipped, 1);
  }
  EXPECT_THROW(evaluate({""}, 1), ConfigError);
}

TEST_F(Recognise, TranscribesInTheOrderOfTheRecordings) {
  const auto texts = transcripts({in("test-4.wav"), in("test-0.wav"), in("test-4.wav")}, 1);
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_EQ(texts[0], texts[2]);
  EXPECT_EQ(transcripts({in("test-4.wav"), in("test-0.wav"), in("test-4.wav")}, 2), texts);
  EXPECT_THROW(transcripts({in("gone.wav")}, 1), DataError);
}

TEST_F(Recognise, WritesTheLogitsOfEveryRecording) {
  const std::vector<std::filesystem::path> recordings = {in("test-4.wav"), in("test-0.wav"),
                                                         in("test-4.wav")};
  std::vector<std::string> files, texts;
  for (const int ranks : {1, 3}) {
    const std::string file = in(fmt::format("logits-{}", ranks));
    comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
      const auto found = transcribe({in("output")}, recordings, world, file);
      if (world.rank() == 0) texts = found;
    });
    files.push_back(test::read_file(file));
  }
  EXPECT_TRUE(files[0] == files[1]);

  const SafetensorsFile file(in("logits-3"));
  ASSERT_EQ(file.entries().size(), recordings.size());
  configs::TextConfig text;
  text.alphabet = "abcd";
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    const SafetensorsEntry& entry = file.entries()[i];
    EXPECT_EQ(entry.name, fmt::format("{:05}", i));
    EXPECT_EQ(entry.dtype, "F32");
    ASSERT_EQ(entry.shape.size(), 2u);
    EXPECT_EQ(entry.shape[1], 5u);
    std::vector<float> logits_FC(entry.shape[0] * entry.shape[1]);
    ASSERT_EQ(file.bytes(entry).size(), logits_FC.size() * sizeof(float));
    std::memcpy(logits_FC.data(), file.bytes(entry).data(), file.bytes(entry).size());
    EXPECT_EQ(Alphabet(text).decode(greedy_labels(logits_FC, 5, 5)), texts[i]);
    EXPECT_LT(*std::ranges::min_element(logits_FC), 0);  // no probabilities
  }
  EXPECT_EQ(file.entries()[0].shape, file.entries()[2].shape);  // one recording
  EXPECT_NE(file.entries()[0].shape, file.entries()[1].shape);
}

TEST_F(Recognise, MakesNoFolderForTheIndex) {
  std::filesystem::create_directories(in("test.jsonl.index/taken"));
  std::filesystem::rename(in("output"), in("moved"));
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    EXPECT_EQ(evaluate_checkpoint({in("moved")}, {in("test.jsonl")}, world).utterances, 7);
    EXPECT_EQ(evaluate_checkpoint({in("moved")}, {in("test.jsonl")}, world).utterances, 7);
  });
  EXPECT_FALSE(std::filesystem::exists(in("output")));
}

TEST_F(Recognise, NamesEveryRecordingThatCannotBeResampled) {
  test::write_sound(in("slow.wav"), test::make_sound(100), {0x010002, 1});
  test::write_sound(in("fast.wav"), test::make_sound(100), {0x010002, 2'000'000'000});
  const std::string message = test::message_of<DataError>([&] {
    transcripts({in("slow.wav"), in("test-0.wav"), in("fast.wav"), in("gone.wav")}, 2);
  });
  for (const char* part : {"3 recordings", "recording 1: ", "slow.wav: cannot resample 1 Hz",
                           "fast.wav: cannot resample 2000000000 Hz", "gone.wav: no such file",
                           "Correct them, or leave them out."})
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in " << message;
}

TEST_F(Recognise, NamesEveryRecordingTooShortForTheModel) {
  const std::string recipe = fmt::format(
      R"([model]
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
[text]
alphabet = "abcd"
[features]
kind = "waveform"
sample_rate = 8000
[data]
micro_batch_seconds = 2.5
train = "{}"
[trainer]
steps = 1
output = "{}"
)",
      in("train.jsonl"), in("waves"));
  const configs::Config config =
      configs::parse_config(recipe, "recipe.toml", layers::model_families());
  test::write_sound(in("enough.wav"), test::make_sound(20), {0x010002, 8000});
  test::write_sound(in("short.wav"), test::make_sound(19), {0x010002, 8000});
  comm::run_as_threads({.ranks = 1}, [&](comm::Communicator& world) {
    train({config}, world, {});
    const std::string message = test::message_of<DataError>([&] {
      (void)transcribe({in("waves")}, {in("short.wav"), in("enough.wav")}, world);
    });
    for (const char* part : {"1 recording cannot be used", "recording 1: ",
                             "short.wav: its 0.002375 s are too short for the model: "})
      EXPECT_NE(message.find(part), std::string::npos) << part << " is not in " << message;
    EXPECT_EQ(transcribe({in("waves")}, {in("enough.wav")}, world).size(), 1u);
  });
}

TEST_F(Recognise, OneStagePerLayerFindsTheSameTexts) {
  const std::vector<std::filesystem::path> recordings = {in("test-0.wav"), in("test-1.wav")};
  const configs::Config config = configs::parse_config(
      test::tone_recipe(in("train.jsonl"), "", in("output")), "", layers::model_families());
  const auto layers = partition::build_model(config.model, 29).layers.size();
  EXPECT_EQ(transcripts(recordings, static_cast<int>(layers)), transcripts(recordings, 1));
  const std::string message =
      test::message_of<ConfigError>([&] { transcripts(recordings, static_cast<int>(layers) + 1); });
  EXPECT_NE(message.find(fmt::format("mpirun -np {} or fewer", layers)), std::string::npos)
      << message;
}

}  // namespace
}  // namespace penstock::runtime
