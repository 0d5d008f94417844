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
  std::int64_t skipped = 0;  // besides: left out, since they can't be used or have failed
  ErrorCount errors = {};
  double loss = 0;
  double audio_seconds = 0;

  ErrorTally& operator+=(const ErrorTally& other);
  bool operator==(const ErrorTally&) const = default;
};

/// An utterance's; a failed one is a skipped one.
[[nodiscard]] ErrorTally tally_of(const Recognised& utterance);
/// A pass's, which is whole on every rank.
[[nodiscard]] ErrorTally tally_of(const Evaluation& evaluation);

/// What an evaluation has counted so far. It grows with the manifests and the values of fields
/// alone.
struct EvaluationTotals {
  std::int64_t step = 0;                              // of the checkpoint
  std::vector<ErrorTally> manifests;                  // in their order
  std::vector<std::map<std::string, ErrorTally>> by;  // for each field: by its value
  std::vector<std::int64_t> done;  // utterances of each manifest that have been dealt with

  bool operator==(const EvaluationTotals&) const = default;
};

/// With rates and loss per utterance. The step and the time are the caller's.
[[nodiscard]] EvaluationReport report_of(const ErrorTally& tally);
/// Of all manifests together.
[[nodiscard]] ErrorTally sum_of(const EvaluationTotals& totals);

/// JSON that parse_totals() reads back, to the bit.
[[nodiscard]] std::string to_text(const EvaluationTotals& totals);
/// DataError if it is none.
[[nodiscard]] EvaluationTotals parse_totals(std::string_view text);

}  // namespace penstock::runtime
