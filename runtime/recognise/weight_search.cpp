#include "runtime/recognise/weight_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

// The error rate has steps, and neighbours in both weights are alike, so the search needs no slope.
// The first round tries a grid over both ranges. Each further round halves the distance between
// points and tries the eight around the best one so far, within the ranges (Hooke & Jeeves 1961,
// pattern search). So r rounds of a grid of p points try at most p² + 1 + 8 (r - 1) weights, and
// find the best one of the grid and a local minimum near it. What is tried depends on the errors
// alone.

namespace penstock::runtime {
namespace {

double step(const WeightRange& range, int points, int round) {
  return std::ldexp((range.high - range.low) / (points - 1), -round);
}

double clamped(double weight, const WeightRange& range) {
  return std::clamp(weight, range.low, range.high);
}

void check(const WeightRange& range, const char* what) {
  if (!(range.low <= range.high))
    throw ConfigError(fmt::format("the range of {} is {:g} to {:g}: name the lower one first", what,
                                  range.low, range.high));
}

}  // namespace

std::pair<std::int64_t, std::int64_t> TriedWeights::decisive_edits(bool by_characters) const {
  const std::int64_t words = errors.words.edits, characters = errors.characters.edits;
  return by_characters ? std::pair(characters, words) : std::pair(words, characters);
}

WeightSearch::WeightSearch(const WeightSearchOptions& options, const WordScoring& given)
    : options_(options), given_(given) {
  check(options_.lm_weight, "the language model's weights");
  check(options_.word_score, "word scores");
  if (options_.points < 2 || options_.rounds < 1 || options_.rounds > kMostRounds)
    throw ConfigError(
        fmt::format("a search of {} rounds with {} points: it needs 1 to {} rounds, "
                    "and 2 points or more",
                    options_.rounds, options_.points, kMostRounds));
}

void WeightSearch::add(std::vector<WordScoring>& weights, double lm_weight,
                       double word_score) const {
  const auto equal = [&](const WordScoring& other) {
    return other.lm_weight == lm_weight && other.word_score == word_score;
  };
  if (std::ranges::any_of(weights, equal) ||
      std::ranges::any_of(tried_, equal, &TriedWeights::scoring))
    return;
  WordScoring& one = weights.emplace_back(given_);
  one.lm_weight = lm_weight;
  one.word_score = word_score;
}

std::vector<WordScoring> WeightSearch::next() {
  asked_.clear();
  if (round_ == options_.rounds) return asked_;
  const double lm_step = step(options_.lm_weight, options_.points, round_);
  const double word_step = step(options_.word_score, options_.points, round_);
  if (round_ == 0) {
    asked_.push_back(given_);
    for (int i = 0; i < options_.points; ++i)
      for (int j = 0; j < options_.points; ++j)
        add(asked_, clamped(options_.lm_weight.low + i * lm_step, options_.lm_weight),
            clamped(options_.word_score.low + j * word_step, options_.word_score));
  } else {
    const WordScoring centre = tried_[best()].scoring;
    for (const int i : {-1, 0, 1})
      for (const int j : {-1, 0, 1})
        add(asked_, clamped(centre.lm_weight + i * lm_step, options_.lm_weight),
            clamped(centre.word_score + j * word_step, options_.word_score));
  }
  ++round_;
  return asked_;
}

void WeightSearch::take(const std::vector<ErrorCount>& errors) {
  for (std::size_t i = 0; i < asked_.size(); ++i) tried_.push_back({asked_[i], errors.at(i)});
}

std::size_t WeightSearch::best() const {
  const auto order = [&](const TriedWeights& one) {
    return one.decisive_edits(options_.by_characters);
  };
  return static_cast<std::size_t>(std::ranges::min_element(tried_, {}, order) - tried_.begin());
}

}  // namespace penstock::runtime
