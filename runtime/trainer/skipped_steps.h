#pragma once

#include <cstdint>

#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// Detects training that no longer changes the model. A step whose gradient is not finite is
/// skipped. Single skipped steps are normal: FP16's loss scaling skips some at the start, where
/// each halves the scale, at most 14 times from 16,384 to 1. More than trainer.max_skipped in a row
/// count as divergence.
class SkippedSteps {
 public:
  explicit SkippedSteps(std::int64_t max_in_a_row) : max_(max_in_a_row) {}

  /// Counts a step. Once too many in a row are skipped, throws DivergenceError, which names the
  /// steps, their numbers and the remedies.
  void count(const StepReport& step);

  /// Throws DivergenceError if the run ends with a skipped step whose loss is not finite. No loss
  /// scale can be the cause of that.
  void check_end() const;

  std::int64_t total() const { return total_; }

 private:
  [[noreturn]] void throw_divergence() const;

  std::int64_t max_, total_ = 0, in_a_row_ = 0;
  StepReport last_;
};

}  // namespace penstock::runtime
