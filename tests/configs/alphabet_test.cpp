#include "configs/alphabet.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock {
namespace {

std::string refusal(const std::string& alphabet, const std::string& fold = "lower") {
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

TEST(AlphabetCharacters, RefuseWhatCannotWork) {
  EXPECT_EQ(refusal(""), "text.alphabet is empty");
  EXPECT_EQ(refusal("aäbä"), "text.alphabet holds 'ä' twice");
  EXPECT_EQ(refusal("ab\xc3"), "text.alphabet is not UTF-8 at byte 2");
  EXPECT_EQ(refusal("abÄ"),
            "text.alphabet holds 'Ä', which text.fold = lower turns into 'ä' in every transcript");
  EXPECT_NE(refusal("ab", "upper"), "");
  EXPECT_EQ(refusal("AÄaä", "none"), "");
  for (const char* blank : {"\t", "\n", "\u00a0", "\x7f", "\u0085", "\x01"})
    EXPECT_NE(refusal(std::string("ab") + blank).find("printable"), std::string::npos) << blank;
  EXPECT_NE(refusal("ab", "title").find("text.fold"), std::string::npos);
}

}  // namespace
}  // namespace penstock
