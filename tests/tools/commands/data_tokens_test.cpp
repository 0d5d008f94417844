#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "runtime/text/sentence_pieces.h"
#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"
#include "tools/commands/commands.h"

namespace penstock::tools {
namespace {

class DataTokens : public testing::Test {
 protected:
  DataTokens() {
    test::write_file(in("train.jsonl"),
                     "{\"audio_filepath\": \"a.wav\", \"text\": \"The cat  and the dog\"}\n"
                     "{\"audio_filepath\": \"b.wav\", \"text\": \"a dog on the mat\"}\n");
  }
  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  test::Outcome tokens(std::vector<std::string> words) const {
    words.insert(words.begin(), {PENSTOCK_BINARY, "data", "tokens"});
    return test::run_program(words);
  }
  std::string normalised(const std::string& model, const std::string& text) const {
    configs::TextConfig config;
    config.fold = "none";
    config.model = in(model);
    return runtime::SentencePieces(config).normalised(text);
  }
  test::TemporaryFolder folder_;
};

TEST_F(DataTokens, TrainsOnFoldedTranscripts) {
  const auto trained = tokens({in("train.jsonl"), "-o", in("a.model"), "--pieces", "14"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(trained.out, in("a.model") + ": 14 pieces of kind unigram, from 2 transcripts\n");
  EXPECT_EQ(trained.err, "");
  EXPECT_EQ(normalised("a.model", "the cat and the dog"), "the cat and the dog");
}

TEST_F(DataTokens, TakesKindAndFold) {
  const auto trained = tokens({in("train.jsonl"), "--output", in("a.model"), "--pieces", "19",
                               "--kind", "bpe", "--fold", "upper"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(normalised("a.model", "THE CAT"), "THE CAT");
}

TEST_F(DataTokens, TakesNormalisationAndRemoval) {
  test::write_file(in("marks.jsonl"),
                   "{\"audio_filepath\": \"a.wav\", \"text\": \"Cafe\\u0301, ЖУК\"}\n"
                   "{\"audio_filepath\": \"b.wav\", \"text\": \"жук café\"}\n");
  const auto trained = tokens({in("marks.jsonl"), "-o", in("a.model"), "--pieces", "9",
                               "--normalise", "nfc", "--fold", "unicode-lower", "--remove", ","});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(normalised("a.model", "жук café"), "жук café");
  EXPECT_THROW((void)normalised("a.model", "ЖУК"), DataError);
}

TEST_F(DataTokens, SaysTheMostThatIsPossible) {
  const auto refused = tokens({in("train.jsonl"), "-o", in("a.model"), "--pieces", "4000"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("the transcripts give at most "), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(in("a.model")));
}

TEST_F(DataTokens, KeepsItsManifest) {
  const auto refused = tokens({in("train.jsonl"), "-o", in("train.jsonl"), "--pieces", "14"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("both name"), std::string::npos) << refused.err;
}

TEST_F(DataTokens, RefusesLinesThatAreBad) {
  test::write_file(in("train.jsonl"), test::read_file(in("train.jsonl")) + "{oops\n");
  const auto refused = tokens({in("train.jsonl"), "-o", in("a.model"), "--pieces", "14"});
  EXPECT_EQ(refused.code, 3);
  EXPECT_NE(refused.err.find("train.jsonl:3: "), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace penstock::tools
