#include "runtime/decoding/word_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "tests/runtime/decoding/two_words.h"

namespace penstock::runtime {
namespace {

constexpr double kTiny = 1e-12;
constexpr WordScoring kScoring{.lm_weight = 0.7, .word_score = 2, .unknown_score = -3};

WordScores::State after(const WordScores& scores, const std::string& text) {
  return scores.extended(scores.start(), text);
}

double in_log(double log10) { return kScoring.lm_weight * std::numbers::ln10 * log10; }

class TwoWordScores : public testing::Test {
 protected:
  WordScores scores{kScoring, std::make_shared<const TwoWords>()};
};

// The model gives "ab" -1 at the start and -2 after "ab", and "é" -0.5 anywhere.
TEST_F(TwoWordScores, CountFinishedWordsInTheirContext) {
  EXPECT_EQ(scores.score(scores.start()), 0);
  EXPECT_EQ(scores.score(after(scores, "ab")), 0);
  EXPECT_NEAR(scores.score(after(scores, "ab ")), in_log(-1) + 2, kTiny);
  EXPECT_NEAR(scores.score(after(scores, "ab ab ")), in_log(-1 - 2) + 4, kTiny);
  EXPECT_NEAR(scores.score(after(scores, "é ab ")), in_log(-0.5 - 1) + 4, kTiny);
  EXPECT_EQ(scores.score(after(scores, "  ab")), scores.score(after(scores, "ab")));
}

// An end has -0.25 after a word, and -4 at the start.
TEST_F(TwoWordScores, CountTheEndOfATextOnce) {
  EXPECT_NEAR(scores.ended_score(after(scores, "ab")), in_log(-1 - 0.25) + 2, kTiny);
  EXPECT_EQ(scores.ended_score(after(scores, "ab ")), scores.ended_score(after(scores, "ab")));
  EXPECT_NEAR(scores.ended_score(scores.start()), in_log(-4), kTiny);
}

TEST_F(TwoWordScores, WeighTheSameWordsOtherwise) {
  const WordScoring other{.lm_weight = 0.2, .word_score = -1, .unknown_score = -5};
  const WordScores reweighed = scores.reweighed(other), made(other, std::make_shared<TwoWords>());
  for (const std::string text : {"", "ab ", "é ab ", "b", "abb ab "}) {
    EXPECT_EQ(reweighed.score(after(reweighed, text)), made.score(after(made, text)));
    EXPECT_EQ(reweighed.ended_score(after(reweighed, text)), made.ended_score(after(made, text)));
  }
  EXPECT_NEAR(scores.score(after(scores, "ab ")), in_log(-1) + 2, kTiny);
}

TEST_F(TwoWordScores, CountUnknownWordsAndTheirBeginnings) {
  EXPECT_EQ(scores.score(after(scores, "a")), 0);
  EXPECT_EQ(scores.score(after(scores, "b")), -3);
  EXPECT_EQ(scores.score(after(scores, "abbbbb")), -3);
  EXPECT_EQ(scores.score(after(scores, "ééééééééé")), -4.5);
  EXPECT_NEAR(scores.score(after(scores, "a ")), in_log(-6 - 3) + 2, kTiny);
  EXPECT_NEAR(scores.score(after(scores, "abb ab ")), in_log(-6 - 3 - 1) + 4, kTiny);
}

// A hot beginning costs nothing as an unknown one. "éab" has three characters.
TEST_F(TwoWordScores, AddWhatHotWordsSay) {
  const WordScores hot(kScoring, std::make_shared<const TwoWords>(), {{"bba", "éab"}, 6});
  EXPECT_EQ(hot.score(after(hot, "b")), 2);
  EXPECT_EQ(hot.score(after(hot, "éa")), 4);
  EXPECT_EQ(hot.score(after(hot, "ba")), -3);
  EXPECT_NEAR(hot.score(after(hot, "bba ")), in_log(-6 - 3) + 2 + 6, kTiny);
  EXPECT_NEAR(hot.score(after(hot, "bba b")), in_log(-6 - 3) + 2 + 6 + 2, kTiny);
  EXPECT_NEAR(hot.ended_score(after(hot, "bba")), in_log(-6 - 3 - 0.25) + 2 + 6, kTiny);
  EXPECT_EQ(hot.ended_score(after(hot, "ab")), scores.ended_score(after(scores, "ab")));
}

TEST(WordScores, AreThoseOfHotWordsWithoutAModel) {
  const WordScores hot(kScoring, nullptr, {{"ab"}, 5});
  EXPECT_EQ(hot.score(after(hot, "c ab c")), 5);
  EXPECT_EQ(hot.score(after(hot, "c a")), 2.5);
  EXPECT_EQ(hot.ended_score(after(hot, "ab abc ab")), 10);
}

// Pieces cut words anywhere, even within a character.
TEST_F(TwoWordScores, DependOnTheTextAlone) {
  WordScores::State state = scores.start();
  for (const char* part : {" a", "b", " \xc3", "\xa9", " ", "ab a", "b"})
    state = scores.extended(state, part);
  EXPECT_EQ(scores.ended_score(state), scores.ended_score(after(scores, "ab é ab ab")));
}

}  // namespace
}  // namespace penstock::runtime
