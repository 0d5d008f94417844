#include "runtime/trainer/best_validation.h"

#include <fmt/format.h>

#include <cmath>

namespace penstock::runtime {

// A value counts only as long as its checkpoint exists: otherwise a run could end without a best
// checkpoint, because nothing beat the one that is gone. A run without validation takes over the
// record with its basis, and passes it on in its checkpoints.
std::string BestValidation::recall(const TrainingState& saved, bool stored) {
  if (saved.best_metric.empty()) return {};
  ValidationBasis before{saved.best_metric, saved.best_corpus_hash};
  const std::string change = basis_change(before, basis_);
  if (!stored || !change.empty())
    return fmt::format(
        "the best checkpoint so far, of step {}, {}: the next validation begins the search anew",
        saved.best_step, stored ? "was chosen " + change : "is gone");
  basis_ = std::move(before);
  known_ = true;
  value_ = saved.best_value;
  step_ = saved.best_step;
  return {};
}

// NaN is neither lower nor higher than a number, so as the best it would never be beaten.
bool BestValidation::beaten_by(const EvaluationReport& report) const {
  const double value = validation_metric(report, basis_.metric);
  return std::isfinite(value) && (!known_ || value < value_);
}

void BestValidation::set(const EvaluationReport& report) {
  known_ = true;
  value_ = validation_metric(report, basis_.metric);
  step_ = report.step;
}

void BestValidation::write_to(TrainingState& state) const {
  if (!known_) return;
  state.best_metric = basis_.metric;
  state.best_value = value_;
  state.best_step = step_;
  state.best_corpus_hash = basis_.corpus_hash;
}

}  // namespace penstock::runtime
