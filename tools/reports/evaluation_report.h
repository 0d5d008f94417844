#pragma once

#include <string>

#include "runtime/recognise/evaluate_manifests.h"

namespace penstock::tools {

/// The result of `penstock evaluate`.
struct EvaluationOutcome {
  const runtime::TestSet& test;
  const runtime::EvaluationTotals& totals;
  double seconds = 0;  // duration of the evaluation
};

/// Returns one line for all utterances, a table of the manifests if there are several, and a table
/// of the values of each field of --by.
[[nodiscard]] std::string evaluation_text(const EvaluationOutcome& outcome);

/// Returns one JSON object, whose rates are fractions. It has "manifests" if there are several, and
/// "by" if fields were asked for.
[[nodiscard]] std::string evaluation_json(const EvaluationOutcome& outcome);

}  // namespace penstock::tools
