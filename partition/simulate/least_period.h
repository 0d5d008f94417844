#pragma once

#include <vector>

#include "partition/schedule/edge.h"
#include "partition/simulate/simulate.h"

namespace penstock::partition {

/// Bounds step_period() with Barrier::before_step from below, without events: what a rank's list,
/// messages and gradients wait for makes a graph without cycles, whose longest path no simulation
/// is shorter than. Messages that share links and micro-batches that wait for slots may take
/// longer; without either it is what the simulation takes, but for rounding.
class LeastPeriod {
 public:
  /// Of a sound schedule. Orders its actions once for all durations.
  explicit LeastPeriod(const Schedule& schedule);

  /// Seconds. In time O(a) for a actions.
  double seconds(const Durations& durations) const;

 private:
  /// An action behind all that it waits for.
  struct Place {
    Action action;
    int rank = 0;
    int edge = -1, message = -1;  // of what it sends, awaits or takes
  };
  struct Way {  // of the messages of an edge
    Edge edge;
    int from = 0, to = 0;  // ranks
  };
  class Walk;
  class Messages;

  std::size_t ranks_ = 0, messages_ = 0;
  std::vector<Way> ways_;
  std::vector<Place> order_;  // all but steps, and copies between device and host
};

}  // namespace penstock::partition
