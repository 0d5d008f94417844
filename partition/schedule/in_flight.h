#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// How many micro-batches of one chunk hold a buffer at once, at most, when its list is run. "The
/// end" is that of backward, or of backward_weight where backward is split.
struct InFlight {
  int slots = 0;   // from forward to the end, but for what is between offload and reload
  int inputs = 0;  // from the receive's post (forward, where nothing is received) to the end
  /// From the receive's post (backward on the next chunk, where this rank holds that too) to the
  /// end.
  int output_gradients = 0;
  /// Not of the first chunk. What is sent is under way while the next backward computes, so that
  /// two take turns; what stays on the rank is moved at once.
  int input_gradients = 0;
  int recomputed = 0;  // from the start of backward to the end, and while a forward runs
  int host = 0;        // from offload to the start of backward

  void cover(const InFlight& other);
};

/// At most, of any sound lists of one chunk a rank that hold so many micro-batches between forward
/// and weight gradient: receives are posted one action ahead, so that of messages there may be one
/// more.
InFlight in_flight_of(int micro_batches);

InFlight count_in_flight(const Schedule& schedule, int chunk);

}  // namespace penstock::partition
