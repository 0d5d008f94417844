#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/checkpoint/open_checkpoint.h"
#include "tests/support/runtime/training_folder.h"

namespace penstock::tools {
namespace {

namespace fs = std::filesystem;

/// The tone corpus, whose labels are pieces of its letters.
class Pieces : public testing::Test {
 protected:
  Pieces() { make("pieces.model", "8"); }

  void make(const std::string& name, const std::string& pieces) const {
    const auto made = folder_.run({"data", "tokens", folder_.in("train.jsonl"), "-o",
                                   folder_.in(name), "--pieces", pieces, "--kind", "bpe"});
    if (made.code != 0) throw std::runtime_error(made.err);
  }
  test::Outcome train(const std::string& output, std::vector<std::string> words,
                      test::Ranks ranks = {}) const {
    words.insert(words.begin(),
                 {"text.kind=sentencepiece", "text.model=" + folder_.in("pieces.model"),
                  "trainer.validate_every=-1"});
    return folder_.train(output, std::move(words), ranks);
  }
  nlohmann::json evaluate(const std::string& output, test::Ranks ranks = {}) const {
    const auto evaluated =
        folder_.run({"evaluate", folder_.in(output), folder_.in("train.jsonl"), "--json"}, ranks);
    EXPECT_EQ(evaluated.code, 0) << evaluated.err;
    return nlohmann::json::parse(evaluated.out);
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
};

TEST_F(Pieces, AreTrainedAndNeedNoFileAfterwards) {
  const auto trained = train("output", {"trainer.steps=60"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  fs::remove(folder_.in("pieces.model"));

  const auto rates = evaluate("output");
  EXPECT_LT(rates["cer"], 0.7);  // silence has 1
  EXPECT_EQ(evaluate("output", {2})["cer"], rates["cer"]);
  const auto transcribed =
      folder_.run({"transcribe", folder_.in("output"), folder_.in("train-0.wav"), "--json"});
  ASSERT_EQ(transcribed.code, 0) << transcribed.err;
  const std::string heard = nlohmann::json::parse(transcribed.out)["text"];
  EXPECT_FALSE(heard.empty());
  EXPECT_EQ(heard.find_first_not_of("abcd "), std::string::npos) << heard;
}

TEST_F(Pieces, ResumeWithoutTheirFileBitEqually) {
  ASSERT_EQ(train("whole", {"trainer.steps=5"}).code, 0);
  ASSERT_EQ(train("parts", {"trainer.steps=2"}).code, 0);
  fs::remove(folder_.in("pieces.model"));
  const auto resumed = train("parts", {"trainer.steps=5", "trainer.resume=true", "trainer.keep=1"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NE(resumed.err.find("pieces.model is missing: the run goes on with "), std::string::npos)
      << resumed.err;
  EXPECT_EQ(folder_.record("parts"), folder_.record("whole"));
  EXPECT_EQ(runtime::open_checkpoint(folder_.in("parts")).state().tokenizer_hash,
            runtime::open_checkpoint(folder_.in("whole")).state().tokenizer_hash);
  EXPECT_EQ(train("new", {"trainer.steps=5"}).code, 2);
}

TEST_F(Pieces, ResumeWithNoOtherOnes) {
  ASSERT_EQ(train("output", {"trainer.steps=2", "model.classes=14"}).code, 0);
  make("pieces.model", "9");
  const std::vector<std::string> more = {"trainer.steps=3", "trainer.resume=true",
                                         "model.classes=14"};
  const auto refused = train("output", more);
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("\n  text.model: was a file with "), std::string::npos) << refused.err;
  make("pieces.model", "8");
  EXPECT_EQ(train("output", more).code, 0);
}

TEST_F(Pieces, EndWith4WhereTheCheckpointsAreDamaged) {
  ASSERT_EQ(train("output", {"trainer.steps=2"}).code, 0);
  const std::string kept = folder_.in("output") + "/checkpoint-000000002/tokenizer.model";
  test::write_file(kept, test::read_file(kept) + "x");
  const auto refused =
      folder_.run({"evaluate", folder_.in("output"), folder_.in("validation.jsonl")});
  EXPECT_EQ(refused.code, 4);
  EXPECT_NE(refused.err.find(kept), std::string::npos) << refused.err;
}

TEST_F(Pieces, NameTheLetterThatTheyLack) {
  test::write_file(folder_.in("train.jsonl"),
                   test::read_file(folder_.in("train.jsonl")) +
                       R"({"audio_filepath": "train-0.wav", "text": "é"})");
  const auto refused = train("output", {"trainer.steps=2"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_NE(refused.err.find("no piece of text.model has: 'é' (U+00E9)"), std::string::npos)
      << refused.err;
}

TEST_F(Pieces, TrainAlikeInStagesAndReplicas) {
  ASSERT_EQ(train("alone", {"trainer.steps=3"}).code, 0);
  const auto split =
      train("split", {"trainer.steps=3", "pipeline.stages=2", "pipeline.replicas=2"}, {4});
  ASSERT_EQ(split.code, 0) << split.err;
  EXPECT_EQ(folder_.record("split"), folder_.record("alone"));
}

TEST_F(Pieces, LeaveOutputsOfAnAlphabetFree) {
  const auto trained =
      folder_.train("output", {"trainer.steps=20", "model.classes=9", "trainer.validate_every=20"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(folder_.record("output").tensors.at("output.weight").size(), 9 * 12 * sizeof(float));
  EXPECT_EQ(evaluate("output")["utterances"], 30);
  const auto refused = folder_.train("few", {"trainer.steps=2", "model.classes=4"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("model.classes = 4 has no room for the text's 5 labels"),
            std::string::npos)
      << refused.err;
}

}  // namespace
}  // namespace penstock::tools
