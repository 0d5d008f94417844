#pragma once

#include "runtime/pipeline/session.h"
#include "runtime/trainer/prepared_training.h"
#include "runtime/trainer/report.h"
#include "runtime/trainer/validation_metric.h"

namespace penstock::runtime {

/// Returns by what the validations of a run are compared.
[[nodiscard]] ValidationBasis validation_basis(const PreparedTraining& training);

/// Validates the model that the session holds, on the validation utterances. Returns a report that
/// is the same on all ranks, without a step. All ranks call it together. DataError if more
/// recordings fail than data.failing_utterances allows.
[[nodiscard]] EvaluationReport run_validation(Session& session, const PreparedTraining& training);

}  // namespace penstock::runtime
