#include "configs/text_rules.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::configs {
namespace {

TextConfig text(const std::string& normalise, const std::string& fold, const std::string& remove) {
  TextConfig config;
  config.normalise = normalise;
  config.fold = fold;
  config.remove = remove;
  return config;
}

std::string error_message(const TextConfig& config) {
  return test::message_of<ConfigError>([&] { (void)text_rules(config); });
}

TEST(TextRules, FollowTheKeys) {
  const TextRules rules = text_rules(text("nfkc", "unicode-upper", ". "));
  EXPECT_EQ(rules.form, Normalisation::nfkc);
  EXPECT_EQ(rules.fold, Fold::unicode_upper);
  EXPECT_EQ(rules.removed, U". ");
  const TextRules usual = text_rules({});
  EXPECT_EQ(usual.form, Normalisation::none);
  EXPECT_EQ(usual.fold, Fold::lower);
  EXPECT_EQ(usual.removed, U"");
}

TEST(TextRules, RejectWhatCannotWork) {
  EXPECT_EQ(error_message(text("nfd", "lower", "")),
            "text.normalise is \"nfd\"; known are none, nfc, nfkc");
  EXPECT_EQ(error_message(text("none", "title", "")),
            "text.fold is \"title\"; known are none, lower, upper, unicode-lower, unicode-upper");
  EXPECT_EQ(error_message(text("none", "lower", "a\xff")), "text.remove is not UTF-8 at byte 1");
  EXPECT_NE(error_message(text("none", "lower", "\t")).find("it takes ' ' alone"),
            std::string::npos);
}

TEST(TextRules, RejectRemovalOfWhatNoTranscriptHas) {
  EXPECT_EQ(error_message(text("none", "lower", ".A")),
            "text.remove holds 'A', which text.fold = lower turns into 'a' before: name what it "
            "becomes");
  EXPECT_EQ(error_message(text("none", "upper", ".A")), "");
  EXPECT_NE(
      error_message(text("nfkc", "none", "\ufb01")).find("text.normalise = nfkc turns into 'fi'"),
      std::string::npos);
  EXPECT_EQ(error_message(text("nfc", "none", "\ufb01")), "");
}

// H with a line below is two characters, h with one a single one.
TEST(TextRules, NormaliseOnceMoreBehindFolding) {
  const std::u32string capital = U"H\u0331";
  EXPECT_EQ(normalised_and_folded(capital, text_rules(text("nfc", "none", ""))), capital);
  EXPECT_EQ(normalised_and_folded(capital, text_rules(text("nfc", "lower", ""))), U"\u1e96");
  EXPECT_EQ(normalised_and_folded(capital, text_rules(text("none", "lower", ""))), U"h\u0331");
}

std::string error_message(const std::string& alphabet, const std::string& fold = "lower") {
  TextConfig config;
  config.alphabet = alphabet;
  config.fold = fold;
  return test::message_of<ConfigError>([&] { alphabet_characters(config); });
}

TEST(AlphabetCharacters, AreCodePointsInOrder) {
  TextConfig config;
  config.alphabet = "abäöß\u0142 '";
  EXPECT_EQ(alphabet_characters(config), U"abäöß\u0142 '");
  EXPECT_EQ(alphabet_characters(TextConfig{}).size(), 28u);
}

TEST(AlphabetCharacters, AreWhatTranscriptsKeep) {
  const auto error_message_of = [](const std::string& normalise, const std::string& fold,
                                   const std::string& remove) {
    TextConfig config;
    config.alphabet = "ab\u00e9\u0142. ";
    config.normalise = normalise;
    config.fold = fold;
    config.remove = remove;
    return test::message_of<ConfigError>([&] { alphabet_characters(config); });
  };
  EXPECT_EQ(error_message_of("nfkc", "unicode-lower", ",-"), "");
  EXPECT_EQ(error_message_of("none", "lower", ",."),
            "text.alphabet holds '.', which text.remove takes out of every transcript");
  EXPECT_NE(error_message_of("none", "lower", " ").find("holds ' ', which text.remove"),
            std::string::npos);
  EXPECT_NE(error_message_of("none", "unicode-upper", "").find("text.fold = unicode-upper turns"),
            std::string::npos);
}

TEST(AlphabetCharacters, RejectWhatCannotWork) {
  EXPECT_EQ(error_message(""), "text.alphabet is empty");
  EXPECT_EQ(error_message("aäbä"), "text.alphabet holds 'ä' twice");
  EXPECT_EQ(error_message("ab\xc3"), "text.alphabet is not UTF-8 at byte 2");
  EXPECT_EQ(error_message("abÄ"),
            "text.alphabet holds 'Ä', which text.fold = lower turns into 'ä' in every transcript");
  EXPECT_NE(error_message("ab", "upper"), "");
  EXPECT_EQ(error_message("AÄaä", "none"), "");
  for (const char* blank : {"\t", "\n", "\u00a0", "\x7f", "\u0085", "\x01"})
    EXPECT_NE(error_message(std::string("ab") + blank).find("printable"), std::string::npos)
        << blank;
  EXPECT_NE(error_message("ab", "title").find("text.fold"), std::string::npos);
}

}  // namespace
}  // namespace penstock::configs
