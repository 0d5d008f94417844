#include "runtime/decoding/timed_words.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "base/error.h"

namespace penstock::runtime {
namespace {

using Labels = std::vector<std::int32_t>;

/// Returns a tokenizer of "a", "b" and the space: labels 1, 2 and 3.
std::unique_ptr<const Tokenizer> letters_and_space() {
  configs::TextConfig config;
  config.alphabet = "ab ";
  return make_tokenizer(config);
}

/// Returns logits of frames that have these labels with a probability of 0.7 each.
std::vector<float> frames_of(const Labels& path, std::size_t before = 0) {
  std::vector<float> logits;
  for (const std::int32_t label : path) {
    logits.insert(logits.end(), before, 99);
    for (std::int32_t c = 0; c < 4; ++c) logits.push_back(c == label ? std::log(7.F) : 0);
  }
  return logits;
}

// "ab b": two words, with a blank within the first, and blanks beside the space.
const Labels kPath = {0, 1, 1, 0, 2, 0, 3, 0, 2, 2, 0}, kText = {1, 2, 3, 2};

TEST(TimedWords, BeginAndEndWithTheirLabels) {
  const auto tokenizer = letters_and_space();
  const auto words = ctc_word_timer(*tokenizer, {0.25})(frames_of(kPath), 4, kText);
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0].word, "ab");
  EXPECT_EQ(words[0].start, 0.25);
  EXPECT_EQ(words[0].end, 1.25);
  EXPECT_EQ(words[1].word, "b");
  EXPECT_EQ(words[1].start, 2);
  EXPECT_EQ(words[1].end, 2.5);
  for (const TimedWord& word : words) EXPECT_NEAR(word.confidence, 0.7, 1e-6);
}

// The second label of the word is unlikely, and the blank between counts for nothing.
TEST(TimedWords, TrustWhatTheirLabelsHave) {
  const auto tokenizer = letters_and_space();
  const auto words = ctc_word_timer(*tokenizer, {1})(frames_of({1, 0, 3}), 4, Labels{1, 2});
  ASSERT_EQ(words.size(), 1u);
  EXPECT_NEAR(words[0].confidence, (0.7 + 0.1) / 2, 1e-6);
}

TEST(TimedWords, ReadTheColumnsOfCtc) {
  const auto tokenizer = letters_and_space();
  EXPECT_EQ(ctc_word_timer(*tokenizer, {1, 3})(frames_of(kPath, 3), 7, kText),
            ctc_word_timer(*tokenizer, {1})(frames_of(kPath), 4, kText));
}

TEST(TimedWords, AreNoneWithoutLetters) {
  const auto tokenizer = letters_and_space();
  const WordTimer timer = ctc_word_timer(*tokenizer, {1});
  EXPECT_TRUE(timer(frames_of({0, 3}), 4, Labels{3}).empty());
  EXPECT_TRUE(timer(frames_of({0, 0}), 4, {}).empty());
  EXPECT_THROW((void)timer(frames_of({1}), 4, Labels{1, 2}), DataError);
}

}  // namespace
}  // namespace penstock::runtime
