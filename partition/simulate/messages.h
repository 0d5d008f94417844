#pragma once

#include <vector>

#include "partition/simulate/simulate.h"

namespace penstock::partition {

/// A message of a simulation, in seconds on its clock.
struct TimedMessage {
  Edge edge;
  int micro_batch = 0;
  int from = 0, to = 0;  // ranks
  double sent = 0;       // its sender comes to it
  double freed = 0;      // its sender goes on: what is not overlapped has passed
  double start = 0;      // its receive is posted as well, and it is under way
  double end = 0;        // it is there
};

/// Those of simulate() with the same arguments, in the order in which they start.
[[nodiscard]] std::vector<TimedMessage> simulated_messages(const Schedule& schedule,
                                                           const Durations& durations,
                                                           Barrier barrier = Barrier::before_step);

}  // namespace penstock::partition
