#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/decoding/word_scores.h"
#include "runtime/text/error_rate.h"

namespace penstock::runtime {

struct WeightRange {
  double low = 0, high = 0;
};

struct WeightSearchOptions {
  WeightRange lm_weight = {0, 2}, word_score = {-2, 4};
  int points = 5;              // of each range in the first round, from 2
  int rounds = 4;              // from 1
  bool by_characters = false;  // true: character errors decide, not word errors
};

/// The most rounds, after which neighbours differ by nothing.
inline constexpr int kMostRounds = 20;

/// Weights of words, and the errors that were made with them.
struct TriedWeights {
  WordScoring scoring;
  ErrorCount errors = {};

  /// Returns the edits that decide, and then those that decide among equals.
  std::pair<std::int64_t, std::int64_t> decisive_edits(bool by_characters) const;
};

/// Searches for the weights of words that make the fewest errors. The caller measures them.
class WeightSearch {
 public:
  /// ConfigError for an empty range, for too few points, or for too few or too many rounds.
  WeightSearch(const WeightSearchOptions& options, const WordScoring& given);

  /// Returns weights that were not tried yet; none if the search has ended. The first are `given`,
  /// whose unknown_score all have.
  [[nodiscard]] std::vector<WordScoring> next();
  /// Takes the errors of each of them.
  void take(const std::vector<ErrorCount>& errors);

  /// Returns what was tried, in that order.
  const std::vector<TriedWeights>& tried() const { return tried_; }
  /// Returns the place in tried() of the fewest errors; the first one of equals.
  std::size_t best() const;

 private:
  void add(std::vector<WordScoring>& weights, double lm_weight, double word_score) const;

  WeightSearchOptions options_;
  WordScoring given_;
  int round_ = 0;
  std::vector<WordScoring> asked_;
  std::vector<TriedWeights> tried_;
};

}  // namespace penstock::runtime
