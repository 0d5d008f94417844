#pragma once

#include "layers/cuda/recurrence/recurrence_step.h"

namespace penstock::layers::cuda {

/// A channel of an utterance, in one direction.
struct RecurrenceChannel {
  int direction;
  std::int64_t rank, channel;
};

/// Adds h' of a channel to y, the sum over directions. Each direction comes to a frame at its own
/// step: the first one stores, and the second one adds. Both reach the middle frame of an utterance
/// at the same step, where the second direction leaves its h' to add_middles().
template <class T>
__device__ void leave_output(const ForwardStep<T>& io, const RecurrenceChannel& of,
                             const RecurrencePlace& place, T h) {
  T& y = io.y_FH[place.output];
  if (io.at.directions == 1) {
    y = h;
    return;
  }
  const std::int64_t ahead = place.row - io.at.row(1 - of.direction, of.rank);
  if (ahead == 0 && of.direction == 1)
    io.middles_NH[of.rank * io.at.hidden + of.channel] = h;
  else if (ahead == 0 || (ahead < 0) == (of.direction == 0))
    y = h;
  else
    y = from_float<T>(to_float(y) + to_float(h));
}

/// Advances a channel by one frame: computes its gates, and stores what backward needs, the state
/// and the output.
template <class T, class Gates>
__device__ void advance(const ForwardStep<T>& io, const RecurrenceChannel& of, const float* u) {
  const RecurrencePlace place(io.at, of.direction, of.rank, of.channel);
  const T h = from_float<T>(Gates::forward(io, place, u));
  if (io.previous_DFH != nullptr) io.previous_DFH[place.frame] = io.states_DNH[place.state];
  io.next_DNH[place.state] = h;
  leave_output(io, of, place, h);
}

}  // namespace penstock::layers::cuda
