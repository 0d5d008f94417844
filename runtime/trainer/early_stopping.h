#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/checkpoint/training_state.h"
#include "runtime/trainer/validation_metric.h"

namespace penstock::runtime {

/// Ends a run whose validations no longer improve. It knows nothing but their reports, which are
/// the same on all ranks, and the record in the checkpoint.
class EarlyStopping {
 public:
  struct Options {
    ValidationBasis basis = {};
    std::int64_t patience = 0;  // trainer.early_stopping_patience
    double threshold = 0;       // trainer.early_stopping_threshold
  };
  explicit EarlyStopping(Options options);

  /// Continues the count of a checkpoint. One of another metric, or on other utterances, begins
  /// anew, for which a message for the log is returned. A checkpoint without a record begins with
  /// its best validation.
  [[nodiscard]] std::string recall(const TrainingState& saved);

  /// Counts a validation. A metric that is not finite is no improvement.
  void count(const EvaluationReport& report);

  /// Returns true if the run must end: as many validations in a row as it has patience for were no
  /// better than the one before them.
  bool due() const { return options_.patience > 0 && record_.waited >= options_.patience; }
  /// Says why it is due: "no better wer in 5 validations than 0.25 of step 300".
  std::string reason() const;

  /// Returns true if the model of that step has been validated; nothing if the run has resumed from
  /// a checkpoint without a record and validated nothing since.
  std::optional<bool> has_validated(std::int64_t step) const;

  void write_to(TrainingState& state) const { state.early_stopping = record_; }

 private:
  Options options_;
  EarlyStoppingRecord record_;
  bool knows_steps_ = true;
};

}  // namespace penstock::runtime
