#include "runtime/recognise/weight_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

constexpr WordScoring kGiven{.lm_weight = 0.4, .word_score = 1.5, .unknown_score = -7};

/// Errors that grow with the distance to a best point.
struct Bowl {
  double lm_weight, word_score;

  ErrorCount errors(const WordScoring& at) const {
    const double distance =
        std::pow(at.lm_weight - lm_weight, 2) + std::pow((at.word_score - word_score) / 4, 2);
    return {.words = {std::lround(1000 * distance), 500}, .characters = {7, 2000}};
  }
};

/// Runs the whole search.
WeightSearch searched(const WeightSearchOptions& options, const Bowl& bowl) {
  WeightSearch search(options, kGiven);
  for (auto weights = search.next(); !weights.empty(); weights = search.next()) {
    std::vector<ErrorCount> errors;
    for (const WordScoring& one : weights) errors.push_back(bowl.errors(one));
    search.take(errors);
  }
  return search;
}

TEST(WeightSearch, BeginsWithGivenWeightsAndAGrid) {
  WeightSearch search({.lm_weight = {0, 1}, .word_score = {-1, 3}, .points = 3}, kGiven);
  const std::vector<WordScoring> first = search.next();
  ASSERT_EQ(first.size(), 10U);
  EXPECT_EQ(first[0].lm_weight, 0.4);
  std::set<std::pair<double, double>> points;
  for (const WordScoring& one : first) {
    EXPECT_EQ(one.unknown_score, -7);
    points.emplace(one.lm_weight, one.word_score);
  }
  EXPECT_EQ(points, (std::set<std::pair<double, double>>{{0, -1},
                                                         {0, 1},
                                                         {0, 3},
                                                         {0.5, -1},
                                                         {0.5, 1},
                                                         {0.5, 3},
                                                         {1, -1},
                                                         {1, 1},
                                                         {1, 3},
                                                         {0.4, 1.5}}));
}

// The last step is 1/4 of the first: 2 / 4 / 4 and 6 / 4 / 4.
TEST(WeightSearch, ClosesInOnTheBestPoint) {
  for (const Bowl& bowl : {Bowl{1.13, 0.4}, Bowl{0.02, -1.9}, Bowl{1.9, 3.7}, Bowl{0.7, 2.9}}) {
    const WeightSearch search = searched({.rounds = 3}, bowl);
    const WordScoring best = search.tried()[search.best()].scoring;
    EXPECT_LE(std::abs(best.lm_weight - bowl.lm_weight), 0.125);
    EXPECT_LE(std::abs(best.word_score - bowl.word_score), 0.375);
    EXPECT_LE(search.tried().size(), 26U + 2 * 8);
  }
}

TEST(WeightSearch, StaysWithinRangesAndTriesNothingTwice) {
  const WeightSearch search =
      searched({.lm_weight = {0.5, 1}, .word_score = {0, 2}, .rounds = 5}, {2, -9});
  std::set<std::pair<double, double>> points;
  for (const TriedWeights& one : search.tried()) {
    points.emplace(one.scoring.lm_weight, one.scoring.word_score);
    if (&one == &search.tried().front()) continue;
    EXPECT_GE(one.scoring.lm_weight, 0.5);
    EXPECT_LE(one.scoring.lm_weight, 1);
    EXPECT_GE(one.scoring.word_score, 0);
    EXPECT_LE(one.scoring.word_score, 2);
  }
  EXPECT_EQ(points.size(), search.tried().size());
}

// In FP64, 11 steps of 0.1 / 11 are more than 0.1.
TEST(WeightSearch, EndsItsGridWhereTheRangeEnds) {
  WeightSearch search({.lm_weight = {0, 0.1}, .points = 12, .rounds = 1}, kGiven);
  double highest = 0;
  const std::vector<WordScoring> grid = search.next();
  for (std::size_t i = 1; i < grid.size(); ++i) highest = std::max(highest, grid[i].lm_weight);
  EXPECT_EQ(highest, 0.1);
}

TEST(WeightSearch, TakesTheDecisiveRateAndFirstOfEquals) {
  for (const bool characters : {false, true}) {
    WeightSearch search({.points = 2, .rounds = 1, .by_characters = characters}, kGiven);
    EXPECT_EQ(search.next().size(), 5U);
    search.take(
        {{{9, 9}, {9, 9}}, {{2, 9}, {5, 9}}, {{3, 9}, {4, 9}}, {{2, 9}, {5, 9}}, {{3, 9}, {4, 9}}});
    EXPECT_EQ(search.best(), characters ? 2U : 1U);
    EXPECT_TRUE(search.next().empty());
  }
}

TEST(WeightSearch, RefusesEmptySearches) {
  EXPECT_EQ(test::message_of<ConfigError>([] {
              WeightSearch({.word_score = {3, 1}}, kGiven);
            }),
            "the range of word scores is 3 to 1: name the lower one first");
  EXPECT_THROW(WeightSearch({.points = 1}, kGiven), ConfigError);
  EXPECT_THROW(WeightSearch({.rounds = 0}, kGiven), ConfigError);
  EXPECT_THROW(WeightSearch({.rounds = 21}, kGiven), ConfigError);
}

}  // namespace
}  // namespace penstock::runtime
