#pragma once

#include <vector>

#include "partition/search/pattern.h"

namespace penstock::partition {

/// Estimates the makespan of patterns fast: no maps, no events, memory reused. Receives are posted
/// one pass ahead, as complete() does unless that could hang; then no sooner step is estimated than
/// is simulated. Time O(actions), times the number of ranks at worst.
class PatternEstimator {
 public:
  /// `problem` must outlive it.
  explicit PatternEstimator(const ScheduleProblem& problem);

  /// Seconds from the first start to the last end. Infinite where the turns wait for each other for
  /// ever, or hold more than the memory.
  double makespan(const Pattern& pattern);
  /// When the ranks end on average, of the last pattern estimated: tells equal makespans apart.
  double mean_end() const;
  /// Turns of a whole step.
  int turns() const { return 3 * problem_.chunks() * problem_.micro_batches(); }

 private:
  struct RankState {
    std::size_t next = 0;
    double clock = 0, held = 0;
    double posted = 0;  // when the receive is posted of what the next turn takes
  };
  bool take(const Turn& turn, const std::vector<int>& order, RankState& rank);
  double& end(int kind, int chunk, int place) {
    return ends_[(kind * problem_.chunks() + chunk) * problem_.micro_batches() + place];
  }

  const ScheduleProblem& problem_;
  std::vector<double> transfers_;  // behind each chunk
  std::vector<double> ends_;       // [kind][chunk][place]; below 0: not done
  std::vector<int> places_;        // [kind][chunk]: next
  std::vector<RankState> ranks_;
};

}  // namespace penstock::partition
