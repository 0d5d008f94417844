#include "runtime/huggingface/token_text.h"

#include <gtest/gtest.h>

#include "base/unicode.h"
#include "runtime/text/alphabet.h"

namespace penstock::runtime {
namespace {

TEST(TokenText, GivesEveryTokenButBlankACharacter) {
  const TokenText found =
      text_of_tokens({.tokens = {"<unk>", "|", "<pad>", "A", "CH", "É", " "}}, 2);
  const std::u32string alphabet = from_utf8(found.text.alphabet);
  ASSERT_EQ(alphabet.size(), 6u);
  EXPECT_EQ(alphabet[1], U' ');
  EXPECT_EQ(alphabet[2], U'A');
  EXPECT_EQ(alphabet[4], U'É');
  EXPECT_EQ(found.replaced, (std::vector<std::string>{"<unk>", "CH", " "}));
  EXPECT_EQ(Alphabet(found.text).labels(), 7);
}

TEST(TokenText, FoldsAsTheAlphabetNeeds) {
  const auto fold = [](std::vector<std::string> tokens, bool lower_case = false) {
    tokens.insert(tokens.begin(), "<pad>");
    return text_of_tokens({.tokens = std::move(tokens), .lower_case = lower_case}, 0).text.fold;
  };
  EXPECT_EQ(fold({"A", "Ö", "'"}), "upper");
  EXPECT_EQ(fold({"a", "ö", "|"}), "lower");
  EXPECT_EQ(fold({"a", "B"}), "none");
  EXPECT_EQ(fold({"1", "ж"}), "none");
  EXPECT_EQ(fold({"A", "B"}, true), "lower");
}

TEST(TokenText, FindsTokensOfAnAlphabetAgain) {
  const TokenText found = text_of_tokens({.tokens = {"<pad>", "</s>", "|", "a", "ch"}}, 0);
  EXPECT_EQ(tokens_of_text(found.text, "_"), (std::vector<std::string>{"</s>", "_", "a", "<4>"}));
}

}  // namespace
}  // namespace penstock::runtime
