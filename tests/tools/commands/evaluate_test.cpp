#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/data/audio/audio.h"
#include "tests/support/runtime/sounds.h"
#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

/// A checkpoint, and a manifest whose last two of nine utterances can't be used.
class Evaluate : public testing::Test {
 protected:
  Evaluate() {
    test::write_file(manifest_, test::read_file(manifest_) +
                                    "{\"audio_filepath\": \"train-0.wav\", \"text\": \"abz\"}\n"
                                    "{\"audio_filepath\": \"gone.wav\", \"text\": \"ab\"}\n");
    const auto outcome = folder_.train("output", {"trainer.steps=2", "data.bad_utterances=skip"});
    if (outcome.code != 0) throw std::runtime_error(outcome.err);
  }
  test::Outcome evaluate(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"evaluate", folder_.in("output")};
    words.insert(words.end(), more.begin(), more.end());
    return folder_.run(words);
  }

  /// Their lines of a run's metrics.
  std::vector<nlohmann::json> validations_of(const std::string& output) const {
    std::vector<nlohmann::json> lines;
    std::ifstream metrics(folder_.in(output + "/metrics.jsonl"));
    for (std::string line; std::getline(metrics, line);)
      if (const auto object = nlohmann::json::parse(line); !object.contains("loss_hex"))
        lines.push_back(object);
    return lines;
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
  std::string manifest_ = folder_.in("validation.jsonl");
};

TEST_F(Evaluate, NamesUnusableUtterancesAndTheRemedy) {
  const auto outcome = evaluate({manifest_, "--refuse-bad", "--json"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("validation.jsonl:8: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("leave them out by --skip-bad"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("data.bad_utterances"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("text.alphabet='"), std::string::npos) << outcome.err;
}

/// The training left such utterances out, so that evaluation does as well.
TEST_F(Evaluate, SkipsAndCountsAsTheTrainingDid) {
  const auto outcome = evaluate({manifest_, "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["utterances"], 7);
  EXPECT_EQ(report["skipped_utterances"], 2);
  EXPECT_NE(outcome.err.find("left out: 2 utterances"), std::string::npos) << outcome.err;
  const auto text = evaluate({manifest_, "--skip-bad"});
  EXPECT_NE(text.out.find("2 utterances left out"), std::string::npos) << text.out;
}

TEST_F(Evaluate, HearsLongRecordingsInChunks) {
  std::vector<float> sound;
  for (int u = 0; u < 9; ++u) {
    const auto audio = runtime::read_audio(folder_.in(fmt::format("train-{}.wav", u))).samples;
    sound.insert(sound.end(), audio.begin(), audio.end());
  }
  test::write_sound(folder_.in("long.wav"), sound, {0x010002, 8000});
  test::write_file(manifest_, test::read_file(manifest_) +
                                  "{\"audio_filepath\": \"long.wav\", \"text\": \"abcd\"}\n");
  const auto whole = evaluate({manifest_});
  EXPECT_NE(whole.out.find(", loss "), std::string::npos) << whole.out;
  std::vector<std::string> words = {"evaluate", folder_.in("output"), manifest_, "--chunk", "1.5"};
  const auto alone = folder_.run(words);
  EXPECT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(alone.out.find(", loss "), std::string::npos) << alone.out;
  words.insert(words.end(), {"--replicas", "2"});
  EXPECT_EQ(folder_.run(words, {4}).out, alone.out);
}

TEST_F(Evaluate, TakesTheBestByItsName) {
  std::filesystem::copy(folder_.in("output"), folder_.in("copy"),
                        std::filesystem::copy_options::recursive);
  std::filesystem::remove(folder_.in("copy/BEST"));
  const auto best = folder_.run({"evaluate", folder_.in("copy/BEST"), folder_.in("train.jsonl")});
  EXPECT_EQ(best.code, 4) << best.err;  // none was marked
  test::write_file(folder_.in("copy/BEST"),
                   "{\"checkpoint\":\"checkpoint-000000002\",\"metric\":\"wer\",\"value\":1}\n");
  const auto outcome =
      folder_.run({"evaluate", folder_.in("copy/BEST"), folder_.in("train.jsonl"), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["step"], 2);
}

TEST_F(Evaluate, NeedsAManifest) {
  const auto outcome = evaluate({""});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("manifest"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("data.train"), std::string::npos) << outcome.err;
}

TEST_F(Evaluate, AValidationRecordsWhatItLeftOut) {
  const auto validations = validations_of("output");
  ASSERT_EQ(validations.size(), 1u);
  EXPECT_EQ(validations.front()["validation_utterances"], 7);
  EXPECT_EQ(validations.front()["validation_skipped_utterances"], 2);
}

TEST_F(Evaluate, AValidationMayHearASample) {
  std::vector<std::string> overrides = {"trainer.steps=2", "trainer.validate_every=1",
                                        "data.bad_utterances=skip",
                                        "trainer.validate_utterances=3"};
  ASSERT_EQ(folder_.train("one", overrides).code, 0);
  overrides.push_back("pipeline.stages=2");
  ASSERT_EQ(folder_.train("two", overrides, {.count = 2}).code, 0);
  const auto one = validations_of("one"), two = validations_of("two");
  ASSERT_EQ(one.size(), 2u);
  ASSERT_EQ(two.size(), 2u);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i]["validation_utterances"], 3);
    for (const char* rate : {"validation_wer", "validation_cer"})
      EXPECT_EQ(one[i][rate], two[i][rate]) << rate;
  }
}

TEST_F(Evaluate, TranscribeNamesEveryRecordingThatCannotBeUsed) {
  test::write_file(folder_.in("empty.wav"), "");
  const auto outcome = folder_.run({"transcribe", folder_.in("output"), folder_.in("gone.wav"),
                                    folder_.in("train-0.wav"), folder_.in("empty.wav")});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_TRUE(outcome.out.starts_with(folder_.in("train-0.wav") + "\t")) << outcome.out;
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1);
  for (const char* name : {"gone.wav: no such file", "empty.wav: empty"})
    EXPECT_NE(outcome.err.find(name), std::string::npos) << outcome.err;
}

/// Two manifests: the seven usable utterances, with speakers, and four of the training.
class EvaluateMany : public Evaluate {
 protected:
  EvaluateMany() {
    std::istringstream lines(test::read_file(folder_.in("validation.jsonl")));
    std::string clean;
    int u = 0;
    for (std::string line; std::getline(lines, line) && u < 7; ++u)
      clean += line.substr(0, line.size() - 1) + (u == 6       ? "}\n"
                                                  : u % 2 == 0 ? ", \"speaker\": \"anna\"}\n"
                                                               : ", \"speaker\": 7}\n");
    test::write_file(clean_, clean);
    std::istringstream training(test::read_file(folder_.in("train.jsonl")));
    std::string other;
    for (int i = 0; i < 4; ++i) {
      std::string line;
      std::getline(training, line);
      other += line + "\n";
    }
    test::write_file(other_, other);
  }
  std::string clean_ = folder_.in("clean.jsonl"), other_ = folder_.in("other.jsonl");
};

TEST_F(EvaluateMany, CountsByManifestAndSpeaker) {
  const std::vector<std::string> words = {clean_, other_, "--by", "speaker", "--json"};
  const auto outcome = evaluate(words);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["utterances"], 11);
  ASSERT_EQ(report["manifests"].size(), 2u);
  EXPECT_EQ(report["manifests"][0]["manifest"], clean_);
  EXPECT_EQ(report["manifests"][0]["utterances"], 7);
  EXPECT_EQ(report["manifests"][1]["utterances"], 4);
  const auto& by = report["by"]["speaker"];
  EXPECT_EQ(by["anna"]["utterances"], 3);
  EXPECT_EQ(by["7"]["utterances"], 3);
  EXPECT_EQ(by["(none)"]["utterances"], 5);
  std::int64_t edits = 0, words_counted = 0;
  for (const auto& value : by) {
    edits += value["character_edits"].get<std::int64_t>();
    words_counted += value["words"].get<std::int64_t>();
  }
  EXPECT_EQ(edits, report["character_edits"]);
  EXPECT_EQ(words_counted, report["words"]);
  const auto alone = nlohmann::json::parse(evaluate({other_, "--json"}).out);
  EXPECT_EQ(alone["character_edits"], report["manifests"][1]["character_edits"]);
  EXPECT_EQ(alone["loss"], report["manifests"][1]["loss"]);
  EXPECT_FALSE(alone.contains("manifests") || alone.contains("by"));

  const auto text = evaluate({clean_, other_, "--by", "speaker"});
  for (const char* part :
       {"11 utterances after step 2: WER ", "\nmanifest ", "\nspeaker ", "\n(none) ", "\nanna "})
    EXPECT_NE(text.out.find(part), std::string::npos) << text.out;
}

TEST_F(EvaluateMany, AValidationTellsTheErrorsOfEach) {
  const std::vector<std::string> overrides = {
      "trainer.lanes=2", "trainer.steps=2", "data.bad_utterances=skip",
      "data.validation=[" + clean_ + ", " + folder_.in("validation.jsonl") + ", " + other_ + "]"};
  ASSERT_EQ(folder_.train("one", overrides).code, 0);
  std::vector<std::string> on_four = overrides;
  on_four.insert(on_four.end(), {"pipeline.stages=2", "pipeline.replicas=2"});
  const auto outcome = folder_.train("four", on_four, {.count = 4});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("\n  " + other_ + ": WER "), std::string::npos) << outcome.err;
  const auto one = validations_of("one"), four = validations_of("four");
  ASSERT_EQ(one.size(), 1u);
  const nlohmann::json parts = one[0]["validation_manifests"];
  EXPECT_EQ(four.at(0)["validation_manifests"], parts);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_NE(parts[0]["cer"], parts[2]["cer"]);  // so that they can't be mistaken
  EXPECT_EQ(parts[1]["utterances"], 7);         // two of nine can't be used

  const auto evaluated = folder_.run({"evaluate", folder_.in("one"), clean_, other_, "--json"}).out;
  const nlohmann::json alone = nlohmann::json::parse(evaluated)["manifests"];
  for (const auto& [part, expected] : {std::pair(0, 0), std::pair(2, 1)})
    for (const char* number : {"manifest", "wer", "cer", "utterances"})
      EXPECT_EQ(parts[part][number], alone[expected][number]) << number;
}

TEST_F(EvaluateMany, ResultsGoOnToTheSameBytes) {
  const std::string file = folder_.in("results.jsonl");
  const std::vector<std::string> words = {clean_,      other_, "--by",     "speaker",
                                          "--results", file,   "--window", "3"};
  const auto whole = evaluate(words);
  ASSERT_EQ(whole.code, 0) << whole.err;
  const std::string lines = test::read_file(file);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 11);
  EXPECT_EQ(evaluate(words).code, 2);  // it is there

  std::vector<std::string> resume = words;
  resume.push_back("--resume");
  EXPECT_EQ(evaluate(resume).out, whole.out);  // all is done
  EXPECT_EQ(test::read_file(file), lines);
  std::filesystem::remove(file);
  // Its ranks are killed once the first window is written.
  const std::string command = PENSTOCK_BINARY " evaluate " + folder_.in("output") + " " + clean_ +
                              " " + other_ + " --by speaker --window 3 --results " + file;
  const auto killed = test::run_program(
      {"timeout", "-k", "2", "30", "bash", "-c",
       command + " & job=$!; until [ -s " + file + " ]; do :; done; kill -9 $job; wait $job"});
  EXPECT_TRUE(killed.code == 128 + 9 || killed.code == 0) << killed.err;
  resume.insert(resume.end(), {"--replicas", "2"});
  std::vector<std::string> command_words = {"evaluate", folder_.in("output")};
  command_words.insert(command_words.end(), resume.begin(), resume.end());
  const auto resumed = folder_.run(command_words, {4});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(resumed.out, whole.out);
  EXPECT_EQ(test::read_file(file), lines);
}

TEST_F(EvaluateMany, RefusesWhatCannotBeMeant) {
  const auto refused = [&](const std::vector<std::string>& words, int code, const char* said) {
    const auto outcome = evaluate(words);
    EXPECT_EQ(outcome.code, code) << said;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
  };
  refused({clean_, "--by", "dialect"}, 3, "--by dialect: no line of ");
  refused({clean_, clean_}, 2, "is named twice");
  refused({clean_, "--replicas", "2"}, 2, "the job has 1 rank, which 2 replicas");
  refused({clean_, "--resume"}, 2, "--resume requires --results");
  refused({clean_, "--results", folder_.in("gone/a")}, 2, "--results: can't write ");
  refused({clean_, "--results", clean_}, 2, "is there already");
  const std::string file = folder_.in("results.jsonl");
  ASSERT_EQ(evaluate({clean_, "--results", file}).code, 0);
  refused({other_, "--results", file, "--resume"}, 2, "holds results of something else");
  refused({clean_, "--results", file, "--resume", "--by", "speaker"}, 2,
          "holds results of something else");
}

TEST_F(Evaluate, LogitsReplaceNothingThatIsRead) {
  const std::string recording = folder_.in("train-0.wav");
  const std::string shard = folder_.in("output/checkpoint-000000002/stage-0.safetensors");
  for (const std::string& taken : {recording, shard, folder_.in("gone/logits")}) {
    const auto outcome =
        folder_.run({"transcribe", folder_.in("output"), recording, "--logits", taken});
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("--logits"), std::string::npos) << outcome.err;
  }
  const std::string logits = folder_.in("logits.safetensors");
  const auto outcome = folder_.run(
      {"transcribe", folder_.in("output"), recording, recording, "--logits", logits}, {2});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(test::read_file(logits).find("\"00001\""), std::string::npos);
}

TEST_F(Evaluate, TranscribeComputesInAnotherPrecision) {
  const auto logits = [&](std::vector<std::string> precision) {
    const std::string file = folder_.in("logits.safetensors");
    std::vector<std::string> words = {"transcribe", folder_.in("output"), folder_.in("train-0.wav"),
                                      "--logits", file};
    words.insert(words.end(), precision.begin(), precision.end());
    const auto outcome = folder_.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return test::read_file(file);
  };
  const std::string own = logits({});
  EXPECT_EQ(logits({"--precision", "fp32"}), own);  // that of the training
  EXPECT_NE(logits({"--precision", "bf16"}), own);
  EXPECT_EQ(folder_
                .run({"transcribe", folder_.in("output"), folder_.in("train-0.wav"), "--precision",
                      "fp64"})
                .code,
            2);
}

}  // namespace
}  // namespace penstock::tools
