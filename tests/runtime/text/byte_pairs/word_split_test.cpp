#include "runtime/text/byte_pairs/word_split.h"

#include <gtest/gtest.h>

#include <string>

#include "base/unicode.h"

namespace penstock::runtime {
namespace {

/// The words with bars between them.
std::string barred(std::string_view text, WordSplit split) {
  const std::u32string characters = from_utf8(text);
  std::string out;
  for (const std::u32string_view word : split_words(characters, split))
    out += (out.empty() ? "" : "|") + to_utf8(word);
  return out;
}

TEST(WordSplit, GivesSpacesToTheWordsAfterThem) {
  EXPECT_EQ(barred("It's  12 o'Clock, \n so", WordSplit::gpt2), "It|'s| | 12| o|'|Clock|,| \n| so");
}

TEST(WordSplit, GivesDigitsAndLinesWordsOfTheirOwn) {
  EXPECT_EQ(barred("It'S  12!\n\n \n so\t", WordSplit::qwen2), "It|'S| | |1|2|!\n\n| \n| so|\t");
}

TEST(WordSplit, KnowsLettersOfAllScripts) {
  EXPECT_EQ(barred("日本語ж٣a\u0301", WordSplit::gpt2), "日本語ж|٣|a|\u0301");
  EXPECT_EQ(barred("", WordSplit::gpt2), "");
}

}  // namespace
}  // namespace penstock::runtime
