#pragma once

#include <string>
#include <string_view>

#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// Says by what validations are compared: trainer.best_metric, and a hash of the utterances, which
/// is empty if a run validates on none. Values of other metrics or utterances mean nothing beside
/// each other.
struct ValidationBasis {
  std::string metric = "wer";
  std::string corpus_hash = {};
  bool operator==(const ValidationBasis&) const = default;
};

/// Returns the validation's metric of that name: wer, cer or loss. The lower it is, the better is
/// the model. It is NaN if no utterance was heard. ConfigError if there is no such metric.
[[nodiscard]] double validation_metric(const EvaluationReport& report, std::string_view metric);

/// Says why the values of `saved` mean nothing beside those of `now`, or returns "" if they do: a
/// run without validation passes on what it finds.
[[nodiscard]] std::string basis_change(const ValidationBasis& saved, const ValidationBasis& now);

}  // namespace penstock::runtime
