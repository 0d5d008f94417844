#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

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
  const auto outcome = evaluate({manifest_, "--json"});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("validation.jsonl:8: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("leave them out by --skip-bad"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find("data.bad_utterances"), std::string::npos) << outcome.err;
}

TEST_F(Evaluate, SkipsAndCountsIfAsked) {
  const auto outcome = evaluate({manifest_, "--skip-bad", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["utterances"], 7);
  EXPECT_EQ(report["skipped_utterances"], 2);
  const auto text = evaluate({manifest_, "--skip-bad"});
  EXPECT_NE(text.out.find("2 utterances left out"), std::string::npos) << text.out;
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
  EXPECT_EQ(outcome.out, "");
  for (const char* name : {"gone.wav: no such file", "empty.wav: empty"})
    EXPECT_NE(outcome.err.find(name), std::string::npos) << outcome.err;
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
