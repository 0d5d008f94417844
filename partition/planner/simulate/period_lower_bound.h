#pragma once

#include <vector>

#include "partition/planner/simulate/simulate.h"
#include "partition/schedule/edge.h"

namespace penstock::partition {

/// PeriodLowerBound is a lower bound of step_period() with Barrier::before_step, without simulating
/// events. The dependences of lists, messages and gradients form an acyclic graph, and no
/// simulation is shorter than its longest path. Messages that share links, and micro-batches that
/// wait for slots, may take longer. Without either, the bound equals the simulated step, up to
/// rounding.
class PeriodLowerBound {
 public:
  /// `schedule` must be sound. Its actions are ordered once, for all durations.
  explicit PeriodLowerBound(const Schedule& schedule);

  /// Returns the bound in seconds, in O(a) for a actions.
  double seconds(const Durations& durations) const;

 private:
  /// A Place is an action at its position in the topological order.
  struct Place {
    Action action;
    int rank = 0;
    int edge = -1, message = -1;  // the message that it sends, awaits or consumes
  };
  /// The two ends of the messages of an edge.
  struct Way {
    Edge edge;
    int from = 0, to = 0;  // ranks
  };
  class Walk;
  class Messages;

  std::size_t ranks_ = 0, messages_ = 0;
  std::vector<Way> ways_;
  std::vector<Place> order_;  // without steps, offloads and reloads
};

}  // namespace penstock::partition
