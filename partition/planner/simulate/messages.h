#pragma once

#include <vector>

#include "partition/planner/simulate/simulate.h"

namespace penstock::partition {

/// A message of a simulation, with times in seconds since its start.
struct TimedMessage {
  Edge edge;
  int micro_batch = 0;
  int from = 0, to = 0;  // ranks
  double sent = 0;       // the sender reaches the send
  double freed = 0;      // the sender goes on, once the part without overlap is over
  double start = 0;      // the receive is posted too, and the transfer starts
  double end = 0;        // the message has arrived
};

/// Returns the messages of simulate() with the same arguments, in the order in which they start.
[[nodiscard]] std::vector<TimedMessage> simulated_messages(const Schedule& schedule,
                                                           const Durations& durations,
                                                           Barrier barrier = Barrier::before_step);

}  // namespace penstock::partition
