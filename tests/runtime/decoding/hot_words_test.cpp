#include "runtime/decoding/hot_words.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

double going_on(const HotWords& words, const std::string& beginning) {
  return words.score(words.extended(words.start(), beginning), count_characters(beginning));
}

double ending(const HotWords& words, const std::string& word) {
  return words.ended_score(words.extended(words.start(), word));
}

TEST(HotWords, ScoreBeginningsByTheShortestWord) {
  const HotWords words({"zürich", "zürichberg", "bern", "zürich"}, 12);
  EXPECT_EQ(going_on(words, "zü"), 4);
  EXPECT_EQ(going_on(words, "zürich"), 12);
  EXPECT_EQ(going_on(words, "zürichb"), 12 * 7 / 10.0);
  EXPECT_EQ(going_on(words, "ber"), 9);
  EXPECT_EQ(going_on(words, "berl"), 0);
}

TEST(HotWords, ScoreWholeWordsThatEnd) {
  const HotWords words({"zürich", "zürichberg"}, -3);
  EXPECT_EQ(ending(words, "zürich"), -3);
  EXPECT_EQ(ending(words, "züric"), 0);
  EXPECT_EQ(ending(words, "zürichs"), 0);
  EXPECT_EQ(ending(words, ""), 0);
  EXPECT_TRUE(HotWords().empty());
  EXPECT_EQ(ending({}, "a"), 0);
  EXPECT_EQ(going_on({}, "a"), 0);
}

TEST(HotWords, AreReadAsTranscriptsAreWritten) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "names.txt";
  test::write_file(file, "\xEF\xBB\xBF  Ab\tba\n\nBA");
  configs::TextConfig config;
  config.alphabet = "ab ";
  EXPECT_EQ(read_hot_words(file, *make_tokenizer(config)),
            (std::vector<std::string>{"ab", "ba", "ba"}));
  test::write_file(file, "a\nb\xff\n");
  EXPECT_NE(test::message_of<ConfigError>([&] {
              (void)read_hot_words(file, *make_tokenizer(config));
            }).find("names.txt, line 2: "),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::runtime
