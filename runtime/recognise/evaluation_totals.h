#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/trainer/evaluation.h"

namespace penstock::runtime {

/// Sums over utterances.
struct ErrorTally {
  std::int64_t utterances = 0;
  std::int64_t skipped = 0;  // not among `utterances`: unusable or failed
  ErrorCount errors = {};
  std::int64_t oracle_word_edits = 0;  // if the best of the reported texts were chosen
  double loss = 0;                     // of utterances heard whole
  std::int64_t in_parts = 0;           // heard in parts: if there are some, no loss is reported
  double audio_seconds = 0;

  ErrorTally& operator+=(const ErrorTally& other);
  bool operator==(const ErrorTally&) const = default;
};

/// Returns the tally of one utterance. A failed one counts as skipped.
[[nodiscard]] ErrorTally tally_of(const Recognised& utterance);
/// Returns the tally of an evaluation, which is the same on every rank.
[[nodiscard]] ErrorTally tally_of(const Evaluation& evaluation);

/// Totals of an evaluation so far. Their size depends on the number of manifests and of distinct
/// field values only.
struct EvaluationTotals {
  std::int64_t step = 0;                              // step of the checkpoint
  std::vector<ErrorTally> manifests;                  // one per TestSet::manifests
  std::vector<std::map<std::string, ErrorTally>> by;  // one map per field, by its value
  std::vector<std::int64_t> done;  // utterances of each manifest that are processed

  bool operator==(const EvaluationTotals&) const = default;
};

/// Returns the rates and the loss per utterance. The caller fills in the step and the time.
[[nodiscard]] EvaluationReport report_of(const ErrorTally& tally);
/// Returns the sum over all manifests.
[[nodiscard]] ErrorTally sum_of(const EvaluationTotals& totals);

/// Returns JSON from which parse_totals() restores the totals to the last bit.
[[nodiscard]] std::string to_text(const EvaluationTotals& totals);
/// Throws DataError if the text is not such JSON.
[[nodiscard]] EvaluationTotals parse_totals(std::string_view text);

}  // namespace penstock::runtime
