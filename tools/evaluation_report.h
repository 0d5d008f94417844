#pragma once

#include <string>

#include "runtime/trainer/evaluate_manifests.h"

namespace penstock::tools {

/// What `penstock evaluate` found.
struct EvaluationOutcome {
  const runtime::TestSet& test;
  const runtime::EvaluationTotals& totals;
  double seconds = 0;  // that it took
};

/// One line for all utterances; tables of the manifests, if there are several, and of the values of
/// each field.
[[nodiscard]] std::string evaluation_text(const EvaluationOutcome& outcome);

/// One JSON object; its rates are fractions. It has "manifests" where there are several, and "by"
/// where fields were asked for.
[[nodiscard]] std::string evaluation_json(const EvaluationOutcome& outcome);

}  // namespace penstock::tools
