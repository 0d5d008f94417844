#pragma once

#include <string>

#include "runtime/recognise/tune_decoding.h"
#include "tools/cli/options.h"

namespace penstock::tools {

/// The result of `penstock tune`.
struct TuningOutcome {
  const runtime::Trained& trained;
  const runtime::WeightSearchOptions& search;
  const runtime::Tuning& tuning;
};

/// Limits of weights of words on the command line.
inline constexpr Limits kWeightLimits = {-1000, 1000};

/// Returns the rate that decides.
[[nodiscard]] double decisive_rate(const runtime::TriedWeights& tried, bool by_characters);

/// Returns a table of the weights with the fewest errors and of those given, and the options of the
/// best ones, to paste. If one of them lies at the end of its range, it says how to search
/// on.
[[nodiscard]] std::string tuning_text(const TuningOutcome& outcome);

/// Returns one JSON object: utterances, left_out, best, given and tried, each with lm_weight,
/// word_score and rates, which are fractions.
[[nodiscard]] std::string tuning_json(const TuningOutcome& outcome);

}  // namespace penstock::tools
