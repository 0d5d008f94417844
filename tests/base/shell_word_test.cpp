#include "base/shell_word.h"

#include <gtest/gtest.h>

#include "tests/support/system/process.h"

namespace penstock {
namespace {

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
