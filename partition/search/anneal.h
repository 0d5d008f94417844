#pragma once

#include <cstdint>
#include <random>

#include "partition/search/pattern_estimator.h"

namespace penstock::partition {

/// Random numbers that are the same everywhere.
class RandomNumbers {
 public:
  explicit RandomNumbers(std::uint64_t seed) : engine_(seed) {}
  /// 0 to below - 1
  std::size_t below(std::size_t below) { return engine_() % below; }
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

/// How long to go on.
struct Annealing {
  std::int64_t rounds = 0;
  double enough = 0;        // seconds: of a makespan that needs no improvement
  bool keep_order = false;  // turns move alone
};

/// Simulated annealing (Kirkpatrick et al. 1983) from `pattern`: a turn moves within its rank, or
/// micro-batches change places; worse is taken with a chance that falls over the rounds. Returns
/// the best that was met, `pattern` itself where nothing is better; at once where a makespan is no
/// longer than enough.
Pattern anneal(PatternEstimator& estimator, Pattern pattern, const Annealing& annealing,
               RandomNumbers& random);

}  // namespace penstock::partition
