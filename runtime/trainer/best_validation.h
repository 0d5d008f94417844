#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "runtime/checkpoint/training_state.h"
#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// The best validation of a run so far, by word error rate, on one set of utterances.
class BestValidation {
 public:
  /// `corpus_hash` identifies the utterances that the run validates on. It is empty if there are
  /// none.
  explicit BestValidation(std::string corpus_hash) : corpus_hash_(std::move(corpus_hash)) {}

  /// Continues from the best validation that a checkpoint records. That requires that the best
  /// checkpoint is still `stored`, and that it was chosen on the same utterances or the run has
  /// none. Otherwise returns a message for the log.
  [[nodiscard]] std::string recall(const TrainingState& saved, bool stored);

  bool beaten_by(const EvaluationReport& report) const { return !known_ || report.wer < wer_; }
  void set(const EvaluationReport& report);

  void write_to(TrainingState& state) const;

 private:
  std::string corpus_hash_;
  bool known_ = false;
  double wer_ = 0;
  std::int64_t step_ = 0;
};

}  // namespace penstock::runtime
