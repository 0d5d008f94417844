#pragma once

#include <string>
#include <string_view>

#include "runtime/recognise/tune_decoding.h"

namespace penstock::tools {

/// The result of `penstock tune`.
struct TuningOutcome {
  const runtime::Trained& trained;
  const runtime::WeightSearchOptions& search;
  const runtime::Tuning& tuning;
  std::string_view metric;  // "wer" or "cer"
};

/// Returns the rate that decides.
[[nodiscard]] double decisive_rate(const runtime::TriedWeights& tried, std::string_view metric);

/// Returns a table of the weights with the fewest errors and of those given, and the options of the
/// best ones, to paste. If these lie at the end of a range, it names the option to search on.
[[nodiscard]] std::string tuning_text(const TuningOutcome& outcome);

/// Returns one JSON object: utterances, left_out, best, given and tried, each with lm_weight,
/// word_score and rates, which are fractions.
[[nodiscard]] std::string tuning_json(const TuningOutcome& outcome);

}  // namespace penstock::tools
