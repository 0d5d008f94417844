#pragma once

#include <cstdint>

#include "runtime/trainer/report.h"

namespace penstock::runtime {

/// Watches for training that goes on without changing the model: a step whose gradient is not
/// finite is skipped. One may be; FP16's loss scaling skips some at the start, where it halves the
/// scale each time, 16 times from 65,536 to 1. More in a row than trainer.max_skipped are
/// divergence.
class SkippedSteps {
 public:
  explicit SkippedSteps(std::int64_t most_in_a_row) : most_(most_in_a_row) {}

  /// DivergenceError with the steps, what they showed and what to do, once there are more in a row.
  void count(const StepReport& step);

  /// For the end of a run: DivergenceError if it stops among skipped steps whose very loss is not
  /// finite, which no scale explains.
  void check_end() const;

  std::int64_t total() const { return total_; }

 private:
  [[noreturn]] void throw_divergence() const;

  std::int64_t most_, total_ = 0, in_a_row_ = 0;
  StepReport last_;
};

}  // namespace penstock::runtime
