#include "runtime/trainer/early_stopping.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/quantities.h"

// Early stopping (Prechelt 1998, "Early stopping - but when?") ends a training once a number of
// validations in a row, the patience, have not improved. A validation improves if its metric is
// lower by more than a threshold than the value to beat, which is then its own. So many small
// improvements add up to one, as in Lightning. Lightning ends at once on a value that is not
// finite; here it is a validation without improvement.
//
//   patience 2, threshold 0.1   validation       1     2     3     4     5     6
//                               metric         0.9   0.7  0.65  0.55   0.5   0.6
//                               value to beat    -   0.9   0.7   0.7  0.55  0.55
//                               waited           0     0     1     0     1     2   it is due
//
// Invariant: the record is a function of the reports alone, in their order, and of the keys. It
// does not depend on what is stored: the best checkpoint may be lost, or may not have been written.
// Every checkpoint has the record of its step, so a run that was killed and repeats steps counts
// each validation once. A validation costs a comparison.

namespace penstock::runtime {

EarlyStopping::EarlyStopping(Options options) : options_(std::move(options)) {
  record_.metric = options_.basis.metric;
  record_.corpus_hash = options_.basis.corpus_hash;
}

// A run without validation passes the record on as it is. The validated step stays even if the
// count begins anew, since a validation is made once, whatever it is compared by.
std::string EarlyStopping::recall(const TrainingState& saved) {
  knows_steps_ = saved.early_stopping.has_value();
  EarlyStoppingRecord before;
  if (knows_steps_)
    before = *saved.early_stopping;
  else if (saved.best_metric.empty())
    return {};
  else
    before = {.metric = saved.best_metric,
              .corpus_hash = saved.best_corpus_hash,
              .value = saved.best_value,
              .step = saved.best_step,
              .validated = saved.best_step};
  record_.validated = before.validated;
  const std::string change = basis_change({before.metric, before.corpus_hash}, options_.basis);
  if (change.empty()) {
    record_ = before;
    return {};
  }
  if (options_.patience == 0 || before.waited == 0) return {};
  return fmt::format("{} without improvement were counted {}: the count begins anew",
                     counted(before.waited, "validation"), change);
}

void EarlyStopping::count(const EvaluationReport& report) {
  knows_steps_ = true;
  record_.validated = report.step;
  const double value = validation_metric(report, record_.metric);
  const bool first = record_.step == 0;
  if (!std::isfinite(value) || !(first || record_.value - value > options_.threshold)) {
    ++record_.waited;
    return;
  }
  record_.value = value;
  record_.step = report.step;
  record_.waited = 0;
}

std::string EarlyStopping::reason() const {
  const std::string validations = counted(record_.waited, "validation");
  if (record_.step == 0) return fmt::format("no finite {} in {}", record_.metric, validations);
  const std::string threshold =
      options_.threshold > 0 ? fmt::format(", by more than {:g},", options_.threshold) : "";
  return fmt::format("no better {}{} in {} than {:.4g} of step {}", record_.metric, threshold,
                     validations, record_.value, record_.step);
}

std::optional<bool> EarlyStopping::has_validated(std::int64_t step) const {
  if (!knows_steps_) return std::nullopt;
  return record_.validated == step;
}

}  // namespace penstock::runtime
