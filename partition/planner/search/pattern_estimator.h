#pragma once

#include <vector>

#include "partition/planner/search/pattern.h"

namespace penstock::partition {

/// PatternEstimator estimates the makespan of patterns without maps and events, and reuses its
/// memory. It assumes that receives are posted one pass ahead, as complete() does unless that could
/// hang; in that case the estimate is an upper bound. The time is O(actions), times the number of
/// ranks at worst.
class PatternEstimator {
 public:
  /// `problem` must outlive this object.
  explicit PatternEstimator(const ScheduleProblem& problem);

  /// Returns the seconds from the first start to the last end. The result is infinite if the turns
  /// wait for each other for ever, or need more than the memory.
  double makespan(const Pattern& pattern);
  /// Returns the mean end of the ranks in the last pattern that was estimated. It distinguishes
  /// patterns with equal makespans.
  double mean_end() const;
  /// Returns the number of turns of a whole step.
  int turns() const { return 3 * problem_.chunks() * problem_.micro_batches(); }

 private:
  struct RankState {
    std::size_t next = 0;
    double clock = 0, held = 0;
    double posted = 0;  // time at which the receive for the next turn is posted
  };
  bool take(const Turn& turn, const std::vector<int>& order, RankState& rank);
  double& end(int kind, int chunk, int place) {
    return ends_[(kind * problem_.chunks() + chunk) * problem_.micro_batches() + place];
  }

  const ScheduleProblem& problem_;
  std::vector<double> transfers_;  // seconds of a message after each chunk
  std::vector<double> ends_;       // [kind][chunk][place]; negative: not done
  std::vector<int> places_;        // [kind][chunk]: next place
  std::vector<RankState> ranks_;
};

}  // namespace penstock::partition
