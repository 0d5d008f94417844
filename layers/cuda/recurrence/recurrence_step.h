#pragma once

#include <cstdint>

#include "layers/cuda/core/numbers.h"

namespace penstock::layers::cuda {

/// A step of a recurrence. It takes one frame, forwards or backwards, of each utterance that has
/// one left.
struct RecurrenceStep {
  const std::int64_t* first_rows_DN;
  std::int64_t frames, utterances, hidden;
  std::int64_t state_width, product_width;  // strides between utterances
  std::int64_t step = 0, active = 0;
  int directions, gates, kept;

  /// Returns the row of the frame that a direction visits in this step.
  __device__ std::int64_t row(int direction, std::int64_t rank) const {
    const std::int64_t first = first_rows_DN[direction * utterances + rank];
    return direction == 0 ? first + step : first - step;
  }
};

/// Indices of one channel of one utterance's frame in one direction. The gates and the kept numbers
/// of a channel lie `hidden` apart.
struct RecurrencePlace {
  __device__ RecurrencePlace(const RecurrenceStep& at, int direction, std::int64_t rank,
                             std::int64_t channel)
      : row(at.row(direction, rank)),
        hidden(at.hidden),
        bias(direction * at.gates * hidden + channel),
        input((row * at.directions + direction) * at.gates * hidden + channel),
        state((direction * at.utterances + rank) * at.state_width + channel),
        product((direction * at.utterances + rank) * at.product_width + channel),
        frame((direction * at.frames + row) * hidden + channel),
        kept((direction * at.frames + row) * at.kept * hidden + channel),
        output(row * hidden + channel) {}

  std::int64_t row, hidden;
  std::int64_t bias;     // in [D, G]
  std::int64_t input;    // in [F, P]
  std::int64_t state;    // in [D, N, H]
  std::int64_t product;  // in [D, N, G]
  std::int64_t frame;    // in [D, F, H]
  std::int64_t kept;     // in [D, F, K]
  std::int64_t output;   // in [F, H]
};

/// Inputs and outputs of a step forward; names as in RecurrenceForward and its workspace. `u` below
/// is U h of each gate of a channel.
template <class T>
struct ForwardStep {
  RecurrenceStep at;
  const T *p_FP, *b_DG;
  const T* states_DNH;  // h
  T* next_DNH;          // h'; may be the same memory if no other thread reads h
  float* cells_DNH;
  T *kept_DFK, *previous_DFH, *cell_DFH;  // null in evaluation
  T *y_FH, *middles_NH;

  __device__ float input(const RecurrencePlace& place, int gate) const {
    return to_float(p_FP[place.input + gate * place.hidden]);
  }
  __device__ float recurrent(const RecurrencePlace& place, const float* u, int gate) const {
    return u[gate] + to_float(b_DG[place.bias + gate * place.hidden]);
  }
  __device__ float sum(const RecurrencePlace& place, const float* u, int gate) const {
    return input(place, gate) + recurrent(place, u, gate);
  }
  __device__ void keep(const RecurrencePlace& place, int which, float value) const {
    if (kept_DFK != nullptr) kept_DFK[place.kept + which * place.hidden] = from_float<T>(value);
  }
};

/// Inputs and outputs of a step backward; names as in RecurrenceBackwardInput and its workspace.
template <class T>
struct BackwardStep {
  RecurrenceStep at;
  const T *dy_FH, *kept_DFK, *previous_DFH, *cell_DFH;
  float *dh_DNH, *ds_DNH;  // gradients of the states after a frame; then of those before it
  T *dp_FP, *dn_DFH;
  T* g_DNG;

  __device__ float kept(const RecurrencePlace& place, int which) const {
    return to_float(kept_DFK[place.kept + which * place.hidden]);
  }
  __device__ float gradient_of_output(const RecurrencePlace& place) const {
    return to_float(dy_FH[place.output]) + dh_DNH[place.state];
  }
  __device__ void give_input(const RecurrencePlace& place, int gate, float value) const {
    dp_FP[place.input + gate * place.hidden] = from_float<T>(value);
  }
  __device__ void give_recurrent(const RecurrencePlace& place, int gate, float value) const {
    g_DNG[place.product + gate * place.hidden] = from_float<T>(value);
  }
  __device__ void give(const RecurrencePlace& place, int gate, float value) const {
    give_input(place, gate, value);
    give_recurrent(place, gate, value);
  }
};

}  // namespace penstock::layers::cuda
