#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/runtime/sounds.h"
#include "tests/support/runtime/tar_writer.h"
#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;
using test::TrainingFolder;

std::string line_of(const std::string& audio, const std::string& more) {
  return R"({"audio_filepath": ")" + audio + "\", " + more + "}\n";
}

/// One utterance that can't be trained on, after the 30 of a sound manifest.
struct BadUtterance {
  std::string name, line, said;
  std::string audio = {};  // contents of bad.wav
};

std::string empty_sound() {
  const test::TemporaryFolder folder;
  test::write_sound(folder.path() / "empty.wav", {}, {0x010002, 8000});
  return test::read_file(folder.path() / "empty.wav");
}

std::string cut_sound() {
  const test::TemporaryFolder folder;
  test::write_sound(folder.path() / "whole.wav", test::make_sound(4000), {0x010002, 8000});
  return test::read_file(folder.path() / "whole.wav").substr(0, 3000);
}

std::vector<BadUtterance> bad_utterances() {
  const auto sound = [](const std::string& more) { return line_of("train-0.wav", more); };
  const std::string bad = line_of("bad.wav", R"("text": "ab")");
  return {
      {"BadJson", "{\"audio_filepath\": \n", "bad JSON"},
      {"NoObject", "[1, 2]\n", "train.jsonl:31"},
      {"NoText", sound(R"("duration": 1)"), "text"},
      {"Missing", line_of("gone.wav", R"("text": "ab")"), "gone.wav: no such file"},
      {"Empty", bad, "empty file"},
      {"Truncated", bad, "truncated", cut_sound()},
      {"NoAudio", bad, "not audio", "It was a dark and stormy night; the rain fell in torrents."},
      {"NoSamples", bad, "no samples", empty_sound()},
      {"ZeroDuration", sound(R"("duration": 0, "text": "ab")"), "duration 0 is not positive"},
      {"NegativeDuration", sound(R"("duration": -1.5, "text": "ab")"), "duration -1.5"},
      {"DurationOfLetters", sound(R"("duration": "long", "text": "ab")"), "is not a number"},
      {"Alphabet", sound(R"("text": "abz")"), "outside text.alphabet: 'z'"},
      {"Labels", sound("\"text\": \"" + std::string(200, 'a') + "\""),
       "its text of 200 labels needs 399"},
  };
}

class RejectedUtterance : public testing::TestWithParam<BadUtterance> {
 protected:
  RejectedUtterance() {
    const std::string manifest = folder_.in("train.jsonl");
    test::write_file(manifest, test::read_file(manifest) + GetParam().line);
    test::write_file(folder_.in("bad.wav"), GetParam().audio);
  }
  TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_P(RejectedUtterance, EndsWith3BeforeTheFirstStep) {
  const auto outcome = folder_.train("output", {});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("train.jsonl:31: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(GetParam().said), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(folder_.in("output")));
}

// Texts are read by the last stage's rank, audio by the first's.
TEST_P(RejectedUtterance, EndsAJobWith3WithoutAnOutputFolder) {
  const auto outcome = folder_.train("output", {"pipeline.stages=2"}, {2});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("train.jsonl:31: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(GetParam().said), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("penstock: "), outcome.err.rfind("penstock: ")) << outcome.err;
  EXPECT_FALSE(fs::exists(folder_.in("output")));
}

TEST_P(RejectedUtterance, IsSkippedIfTheRecipeSaysSo) {
  const auto outcome = folder_.train("output", {"data.bad_utterances=skip", "trainer.steps=1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("train.jsonl:31: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("30 utterances"), std::string::npos) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(Of, RejectedUtterance, testing::ValuesIn(bad_utterances()),
                         [](const auto& info) { return info.param.name; });

/// A start whose index is ready does not look at recordings.
TEST(ChangedRecording, IsFoundWhenItIsRead) {
  const TrainingFolder folder(PENSTOCK_BINARY, PENSTOCK_MPIRUN);
  ASSERT_EQ(folder.train("first", {"trainer.steps=1"}).code, 0);
  test::write_sound(folder.in("train-0.wav"), test::make_sound(3000), {0x010002, 8000});
  const auto silent = folder.train("second", {"trainer.steps=20", "data.failing_utterances=1"});
  EXPECT_EQ(silent.code, 0) << silent.err;
  EXPECT_NE(silent.err.find("left out as silence: "), std::string::npos) << silent.err;
  for (const int ranks : {1, 2}) {
    const auto refused = folder.train(
        "third",
        {"trainer.steps=20", "data.failing_utterances=0", fmt::format("pipeline.stages={}", ranks)},
        {.count = ranks == 1 ? 0 : ranks});
    EXPECT_EQ(refused.code, 3);
    for (const char* said : {"train-0.wav: holds 3000 samples at 8000 Hz", "penstock data index"})
      EXPECT_NE(refused.err.find(said), std::string::npos) << refused.err;
  }
  ASSERT_EQ(test::run_program({PENSTOCK_BINARY, "data", "index", folder.in("train.jsonl")}).code,
            0);
  EXPECT_EQ(folder.train("fourth", {"trainer.steps=20", "data.failing_utterances=0"}).code, 0);
}

/// Losses and weights are those of plain files, to the bit, also where a run goes on with tars.
TEST(TarredData, TrainAsPlainFilesDo) {
  const TrainingFolder folder(PENSTOCK_BINARY, PENSTOCK_MPIRUN);
  const std::vector<std::string> words = {"trainer.steps=9", "trainer.checkpoint_every=4"};
  ASSERT_EQ(folder.train("plain", words).code, 0);
  ASSERT_EQ(folder.train("resumed", {"trainer.steps=4", "trainer.checkpoint_every=4"}).code, 0);
  test::TarWriter tar;
  for (int i = 29; i >= 0; --i) {
    const std::string name = fmt::format("train-{}.wav", i);
    tar.add(name, test::read_file(folder.in(name)));
    fs::remove(folder.in(name));
  }
  test::write_file(folder.in("audio_0.tar"), tar.bytes());
  std::string lines = test::read_file(folder.in("train.jsonl"));
  for (std::size_t at = lines.find("}"); at != std::string::npos; at = lines.find("}", at + 20))
    lines.insert(at, ", \"shard_id\": 0");
  test::write_file(folder.in("train.jsonl"), lines);
  const auto tarred = folder.train("tarred", words);
  ASSERT_EQ(tarred.code, 0) << tarred.err;
  EXPECT_EQ(folder.record("tarred"), folder.record("plain"));
  const auto resumed = folder.train(
      "resumed", {"trainer.resume=true", "trainer.steps=9", "trainer.checkpoint_every=4"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(folder.record("resumed"), folder.record("plain"));
}

TEST(RejectedManifest, IsSaidOnceByAJob) {
  const TrainingFolder folder(PENSTOCK_BINARY, PENSTOCK_MPIRUN);
  test::write_file(folder.in("train.jsonl"), "{nonsense\n");
  const auto outcome = folder.train("output", {"pipeline.stages=2"}, {2});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("train.jsonl:1: bad JSON"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("penstock: "), outcome.err.rfind("penstock: ")) << outcome.err;
}

}  // namespace
}  // namespace penstock::tools
