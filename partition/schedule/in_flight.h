#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// InFlight is the maximum number of micro-batches of one chunk that hold a buffer of each kind at
/// once, when the rank runs its list. "The end" is the end of backward, or of backward_weight if
/// backward is split.
struct InFlight {
  int slots = 0;   // from forward to the end, except between offload and reload
  int inputs = 0;  // from the posted receive (or forward, if nothing is received) to the end
  /// From the posted receive to the end. If this rank also holds the next chunk, from the backward
  /// of that chunk to the end.
  int output_gradients = 0;
  /// The first chunk has none. A gradient that is sent still travels while the next backward
  /// computes, so two buffers are used in turn. A gradient that stays on the rank is moved at once
  /// and needs one.
  int input_gradients = 0;
  int recomputed = 0;  // from the start of backward to the end, and during a forward
  int host = 0;        // from offload to the start of backward
  int caches = 0;      // of an evaluation that writes texts, which has as many in flight as chunks

  /// Raises each count to that of `other` if it is smaller.
  void cover(const InFlight& other);
};

/// Returns an upper bound for any sound lists of one chunk per rank that hold at most
/// `micro_batches` between forward and weight gradient. Receives are posted one action ahead, so
/// there may be one more buffer for messages.
InFlight in_flight_of(int micro_batches);

/// Counts exactly, by walking the list of the rank that holds the chunk.
InFlight count_in_flight(const Schedule& schedule, int chunk);

}  // namespace penstock::partition
