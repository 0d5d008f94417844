#include "runtime/trainer/best_validation.h"

#include <fmt/format.h>

namespace penstock::runtime {
namespace {

std::string best_of(const TrainingState& saved) {
  return fmt::format("the best checkpoint so far, of step {}", saved.best_step);
}

}  // namespace

// A rate counts only as long as its checkpoint exists: otherwise a run could end without a best
// checkpoint, because nothing beat the one that is gone. Rates on other utterances cannot be
// compared. A run without validation takes over the record with its hash, and passes it on in its
// checkpoints.
std::string BestValidation::recall(const TrainingState& saved, bool stored) {
  if (saved.best_metric.empty()) return {};
  if (!stored)
    return fmt::format("{}, is gone: the next validation begins the search anew", best_of(saved));
  if (!corpus_hash_.empty() && corpus_hash_ != saved.best_corpus_hash)
    return fmt::format(
        "{}, was chosen on another data.validation: the next validation begins the search anew",
        best_of(saved));
  corpus_hash_ = saved.best_corpus_hash;
  known_ = true;
  wer_ = saved.best_value;
  step_ = saved.best_step;
  return {};
}

void BestValidation::set(const EvaluationReport& report) {
  known_ = true;
  wer_ = report.wer;
  step_ = report.step;
}

void BestValidation::write_to(TrainingState& state) const {
  if (!known_) return;
  state.best_metric = "wer";
  state.best_value = wer_;
  state.best_step = step_;
  state.best_corpus_hash = corpus_hash_;
}

}  // namespace penstock::runtime
