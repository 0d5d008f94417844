#pragma once

#include "partition/schedule.h"

namespace penstock {

/// How many micro-batches of one chunk hold a buffer at once, at most, when its list is run.
struct InFlight {
  int slots = 0;   // from forward to the end of backward
  int inputs = 0;  // from the receive's post (forward, where nothing is received) to there
  int output_gradients = 0;  // from the receive's post to the end of backward

  void cover(const InFlight& other);
};

InFlight count_in_flight(const Schedule& schedule, int chunk);

}  // namespace penstock
