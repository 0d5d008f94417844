#include "runtime/text/alphabet.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using Labels = std::vector<std::int32_t>;
using test::message_of;

configs::TextConfig text(const std::string& alphabet, const std::string& fold = "lower") {
  configs::TextConfig config;
  config.alphabet = alphabet;
  config.fold = fold;
  return config;
}

TEST(Alphabet, LabelsFollowItsOrderBehindTheBlank) {
  const Alphabet alphabet(text("'abé ", "none"));
  EXPECT_EQ(alphabet.labels(), 6);
  EXPECT_EQ(alphabet.encode("é 'ba"), (Labels{4, 5, 1, 3, 2}));
  EXPECT_EQ(alphabet.encode(""), Labels{});
  EXPECT_EQ(alphabet.decode(Labels{4, 0, 5, 1, 3, 2}), "é 'ba");
}

TEST(Alphabet, VocabularyIsTheBlankAndCharacters) {
  const std::vector<Label> labels = Alphabet(text("bé \U000F0008", "none")).vocabulary();
  EXPECT_EQ(labels, (std::vector<Label>{
                        {}, {"b", "b"}, {"é", "é"}, {" ", " "}, {"\U000F0008", "\U000F0008"}}));
  EXPECT_EQ(labels[2].written, "é");
}

TEST(Alphabet, DefaultIsEnglish) {
  const Alphabet alphabet{configs::TextConfig{}};
  EXPECT_EQ(alphabet.labels(), 29);
  EXPECT_EQ(alphabet.decode(alphabet.encode("Don't PANIC")), "don't panic");
}

TEST(Alphabet, FoldsCaseAndWhiteSpace) {
  EXPECT_EQ(Alphabet(text("a")).normalised(" \tAÀÞ×ß\u00a0\n  Ł. "), "aàþ×ß Ł.");
  EXPECT_EQ(Alphabet(text("A", "upper")).normalised("aàþ÷ßÿ"), "AÀÞ÷ßÿ");
  EXPECT_EQ(Alphabet(text("A", "none")).normalised("aA À"), "aA À");
  EXPECT_EQ(Alphabet(text("a")).normalised(" \n "), "");
}

TEST(Alphabet, ReadsWhatItsRulesLeave) {
  configs::TextConfig config = text("abé ", "unicode-lower");
  config.normalise = "nfkc";
  config.remove = ",-";
  const Alphabet alphabet(config);
  EXPECT_EQ(alphabet.normalised("\uff21-b, E\u0301"), "ab é");
  EXPECT_EQ(alphabet.encode("\uff21-b, E\u0301"), (Labels{1, 2, 4, 3}));
}

TEST(Alphabet, ListsEveryCharacterThatItLacksOnce) {
  const std::string message =
      message_of<DataError>([] { (void)Alphabet(text("ab ")).encode("a 7 b é 7"); });
  EXPECT_NE(message.find("'7' (U+0037), 'é' (U+00E9)"), std::string::npos) << message;
  EXPECT_THROW((void)Alphabet(text("ab")).encode("a b"), DataError);
  EXPECT_THROW((void)Alphabet(text("ab")).encode("\xff"), DataError);
}

TEST(Alphabet, RejectsLabelsThatItLacks) {
  EXPECT_THROW((void)Alphabet(text("ab")).decode(Labels{3}), DataError);
  EXPECT_THROW((void)Alphabet(text("ab")).decode(Labels{-1}), DataError);
}

TEST(Alphabet, RejectsConfigurationsThatCannotWork) {
  EXPECT_THROW(Alphabet(text("")), ConfigError);
  EXPECT_THROW(Alphabet(text("aba")), ConfigError);
  EXPECT_THROW(Alphabet(text("abC")), ConfigError);
  EXPECT_THROW(Alphabet(text("abc", "upper")), ConfigError);
  EXPECT_THROW(Alphabet(text("ab", "title")), ConfigError);
  EXPECT_THROW(Alphabet(text("a\tb")), ConfigError);
  EXPECT_THROW(Alphabet(text("\xff")), ConfigError);
}

}  // namespace
}  // namespace penstock::runtime
