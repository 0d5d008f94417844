#include "configs/alphabet.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::configs {
namespace {

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
