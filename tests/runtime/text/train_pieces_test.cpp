#include "runtime/text/train_pieces.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/error.h"
#include "runtime/text/sentence_pieces.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

using test::message_of;

std::vector<std::string> golden_texts() {
  std::istringstream lines(test::read_file(test::source("tests/golden/pieces/texts.txt")));
  std::vector<std::string> texts;
  for (std::string line; std::getline(lines, line);) texts.push_back(line);
  return texts;
}

class TrainPieces : public testing::TestWithParam<const char*> {
 protected:
  SentencePieces trained(const std::vector<std::string>& texts, int pieces) const {
    configs::TextConfig config;
    config.kind = "sentencepiece";
    config.fold = "none";
    config.model = folder_.path() / "trained.model";
    test::write_file(config.model, train_pieces(texts, {pieces, GetParam()}));
    return SentencePieces(config);
  }
  std::string refused(const std::vector<std::string>& texts, int pieces) const {
    return message_of<ConfigError>([&] { (void)train_pieces(texts, {pieces, GetParam()}); });
  }
  test::TemporaryFolder folder_;
};

TEST_P(TrainPieces, SpellItsTextsInFewerLabels) {
  const std::vector<std::string> texts = golden_texts();
  const SentencePieces pieces = trained(texts, 83);
  EXPECT_EQ(pieces.labels(), 84);
  for (const std::string& text : texts) {
    EXPECT_EQ(pieces.normalised(text), text);
    EXPECT_LT(pieces.encode(text).size(), text.size());
  }
}

TEST_P(TrainPieces, HaveNoOtherSymbolThanUnk) {
  const SentencePieces pieces = trained(golden_texts(), 61);
  const std::int32_t e = pieces.encode("e").back();
  const std::string two = pieces.decode(std::vector{e, e});
  EXPECT_EQ(pieces.decode(std::vector{e, 1, e}), two);  // <unk>
  for (std::int32_t label = 2; label < pieces.labels(); ++label)
    EXPECT_NE(pieces.decode(std::vector{e, label, e}), two) << label;
}

TEST_P(TrainPieces, FollowFromTextsAndOptions) {
  const std::vector<std::string> texts = golden_texts();
  EXPECT_EQ(train_pieces(texts, {70, GetParam()}), train_pieces(texts, {70, GetParam()}));
  EXPECT_NE(train_pieces(texts, {70, GetParam()}), train_pieces(texts, {71, GetParam()}));
}

TEST_P(TrainPieces, LeaveLongTextsAndCaseAlone) {
  std::string longer = "Ä";
  for (int i = 0; i < 3000; ++i) longer += " ab";
  EXPECT_EQ(trained({longer, "b a"}, 6).normalised("Ä ab"), "Ä ab");
}

TEST_P(TrainPieces, BoundsAreSaid) {
  const std::vector<std::string> texts = {"ab", "ba a"};
  EXPECT_NE(refused(texts, 3).find("3 pieces are too few"), std::string::npos);
  EXPECT_NE(refused(texts, 3).find("which are 4"), std::string::npos);
  EXPECT_EQ(refused(texts, 4), "");
  const std::string max = refused(texts, 1000);
  const auto at = max.find("at most ");
  ASSERT_NE(at, std::string::npos) << max;
  const int bound = std::stoi(max.substr(at + 8));
  EXPECT_EQ(refused(texts, bound), "");
  EXPECT_NE(refused(texts, bound + 1), "");
}

TEST_P(TrainPieces, NeedTextWithoutReservedCharacters) {
  EXPECT_THROW((void)train_pieces({}, {9, GetParam()}), DataError);
  EXPECT_THROW((void)train_pieces({"", ""}, {9, GetParam()}), DataError);
  EXPECT_THROW((void)train_pieces({"ab", "a\u2585b"}, {9, GetParam()}), DataError);
}

INSTANTIATE_TEST_SUITE_P(, TrainPieces, testing::Values("unigram", "bpe"),
                         [](const auto& info) { return std::string(info.param); });

TEST(TrainPiecesKind, MustBeKnown) {
  EXPECT_THROW((void)train_pieces({"ab"}, {9, "word"}), ConfigError);
}

}  // namespace
}  // namespace penstock::runtime
