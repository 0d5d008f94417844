#pragma once

#include <cstdint>
#include <random>

#include "partition/planner/search/pattern_estimator.h"

namespace penstock::partition {

/// RandomNumbers gives the same numbers on all platforms.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : engine_(seed) {}
  /// Returns a number from 0 to below - 1.
  std::size_t below(std::size_t below) { return engine_() % below; }
  /// Returns a number from 0 to below 1.
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

/// When to stop, and what may change.
struct Annealing {
  std::int64_t rounds = 0;
  double enough = 0;        // stop at a makespan of so many seconds
  bool keep_order = false;  // move turns only
};

/// Runs simulated annealing (Kirkpatrick et al. 1983) from `pattern`. A change moves a turn within
/// its rank, or exchanges or moves micro-batches. A worse pattern is accepted with a probability
/// that falls over the rounds. Returns the best pattern seen, which may be `pattern` itself. Stops
/// as soon as a makespan is at most `enough`.
Pattern anneal(PatternEstimator& estimator, Pattern pattern, const Annealing& annealing,
               RandomNumbers& random);

}  // namespace penstock::partition
