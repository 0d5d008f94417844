#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "runtime/checkpoint/retention.h"
#include "runtime/checkpoint/training_state.h"
#include "runtime/trainer/validation_metric.h"

namespace penstock::runtime {

/// The best validation of a run so far, by one metric on one set of utterances.
class BestValidation {
 public:
  explicit BestValidation(ValidationBasis basis) : basis_(std::move(basis)) {}

  /// Continues from the best validation that a checkpoint records. That requires that the best
  /// checkpoint is still `stored`, and that it was chosen by the same metric on the same
  /// utterances, or that the run has no utterances. Otherwise returns a message for the log.
  [[nodiscard]] std::string recall(const TrainingState& saved, bool stored);

  /// Returns true if the report's metric is a finite number, and lower than the best so far.
  bool beaten_by(const EvaluationReport& report) const;
  void set(const EvaluationReport& report);

  /// Returns the mark of the best checkpoint. There must be a best validation.
  BestCheckpoint mark() const { return {step_, basis_.metric, value_}; }
  void write_to(TrainingState& state) const;

 private:
  ValidationBasis basis_;
  bool known_ = false;
  double value_ = 0;
  std::int64_t step_ = 0;
};

}  // namespace penstock::runtime
