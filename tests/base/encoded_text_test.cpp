#include "base/encoded_text.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/system/process.h"

namespace penstock {
namespace {

// The examples of RFC 4648.
TEST(Base64, IsThatOfTheStandard) {
  const std::array<std::array<std::string, 2>, 7> cases = {{{"", ""},
                                                            {"f", "Zg=="},
                                                            {"fo", "Zm8="},
                                                            {"foo", "Zm9v"},
                                                            {"foob", "Zm9vYg=="},
                                                            {"fooba", "Zm9vYmE="},
                                                            {"foobar", "Zm9vYmFy"}}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
}

TEST(Base64, HoldsEveryByte) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  for (std::size_t size : {254, 255, 256})
    EXPECT_EQ(from_base64(to_base64(bytes.substr(0, size))), bytes.substr(0, size));
}

TEST(Base64, RefusesOtherTexts) {
  for (const char* text : {"Zg=", "Zg", "Z", "Zm9*", "====", "Zm=v"})
    EXPECT_FALSE(from_base64(text)) << text;
}

TEST(ShellWord, QuotesOnlyWhereTheShellWouldReadMore) {
  EXPECT_EQ(shell_word("trainer.order=3"), "trainer.order=3");
  EXPECT_EQ(shell_word("text.alphabet= ab"), "'text.alphabet= ab'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(ShellWord, IsTheTextToAShell) {
  for (const std::string text :
       {"a b", "it's", "$HOME `id` \"x\" \\", "*", "[2, 0]", "абв", "~", "'"})
    EXPECT_EQ(test::run_program({"sh", "-c", "printf %s " + shell_word(text)}).out, text);
}

}  // namespace
}  // namespace penstock
