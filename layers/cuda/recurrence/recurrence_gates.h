#pragma once

#include "layers/cuda/recurrence/recurrence_step.h"
#include "layers/ops/recurrence.h"

namespace penstock::layers::cuda {

// Gates of one channel of one frame, by the formulas at RecurrenceKind. forward() returns h'.
// backward() leaves the gradient of h without the part that comes through U, and the whole gradient
// of s.

__device__ inline float sigmoid(float x) { return 1 / (1 + expf(-x)); }

template <class T>
struct TanhGates {
  static constexpr int kCount = 1;

  static __device__ float forward(const ForwardStep<T>& io, const RecurrencePlace& place,
                                  const float* u) {
    const float h = tanhf(io.sum(place, u, 0));
    io.keep(place, 0, h);
    return h;
  }

  static __device__ void backward(const BackwardStep<T>& io, const RecurrencePlace& place) {
    const float h = io.kept(place, 0);
    io.give(place, 0, io.gradient_of_output(place) * (1 - h * h));
    io.dh_DNH[place.state] = 0;
  }
};

template <class T>
struct GruGates {
  static constexpr int kCount = 3;

  static __device__ float forward(const ForwardStep<T>& io, const RecurrencePlace& place,
                                  const float* u) {
    const float r = sigmoid(io.sum(place, u, 0)), z = sigmoid(io.sum(place, u, 1));
    const float q = io.recurrent(place, u, 2), n = tanhf(io.input(place, 2) + r * q);
    io.keep(place, 0, r);
    io.keep(place, 1, z);
    io.keep(place, 2, n);
    io.keep(place, 3, q);
    return n + z * (to_float(io.states_DNH[place.state]) - n);
  }

  static __device__ void backward(const BackwardStep<T>& io, const RecurrencePlace& place) {
    const float r = io.kept(place, 0), z = io.kept(place, 1), n = io.kept(place, 2),
                q = io.kept(place, 3), h = to_float(io.previous_DFH[place.frame]);
    const float dh = io.gradient_of_output(place);
    const float dn = dh * (1 - z) * (1 - n * n);
    io.give(place, 0, dn * q * r * (1 - r));
    io.give(place, 1, dh * (h - n) * z * (1 - z));
    io.give_input(place, 2, dn);
    io.give_recurrent(place, 2, dn * r);
    io.dn_DFH[place.frame] = from_float<T>(dn * r);
    io.dh_DNH[place.state] = dh * z;
  }
};

template <class T>
struct LstmGates {
  static constexpr int kCount = 4;

  static __device__ float forward(const ForwardStep<T>& io, const RecurrencePlace& place,
                                  const float* u) {
    const float i = sigmoid(io.sum(place, u, 0)), f = sigmoid(io.sum(place, u, 1)),
                g = tanhf(io.sum(place, u, 2)), o = sigmoid(io.sum(place, u, 3));
    const float before = io.cells_DNH[place.state], s = f * before + i * g;
    io.keep(place, 0, i);
    io.keep(place, 1, f);
    io.keep(place, 2, g);
    io.keep(place, 3, o);
    if (io.cell_DFH != nullptr) io.cell_DFH[place.frame] = from_float<T>(before);
    io.cells_DNH[place.state] = s;
    return o * tanhf(s);
  }

  static __device__ void backward(const BackwardStep<T>& io, const RecurrencePlace& place) {
    const float i = io.kept(place, 0), f = io.kept(place, 1), g = io.kept(place, 2),
                o = io.kept(place, 3), before = to_float(io.cell_DFH[place.frame]);
    const float t = tanhf(f * before + i * g);
    const float dh = io.gradient_of_output(place);
    const float ds = io.ds_DNH[place.state] + dh * o * (1 - t * t);
    io.give(place, 0, ds * g * i * (1 - i));
    io.give(place, 1, ds * before * f * (1 - f));
    io.give(place, 2, ds * i * (1 - g * g));
    io.give(place, 3, dh * t * o * (1 - o));
    io.ds_DNH[place.state] = ds * f;
    io.dh_DNH[place.state] = 0;
  }
};

/// Calls run.operator()<Gates>() for a kind of recurrence.
template <class T, class Run>
void with_gates_of(RecurrenceKind kind, const Run& run) {
  switch (kind) {
    case RecurrenceKind::tanh:
      return run.template operator()<TanhGates<T>>();
    case RecurrenceKind::gru:
      return run.template operator()<GruGates<T>>();
    case RecurrenceKind::lstm:
      return run.template operator()<LstmGates<T>>();
  }
}

}  // namespace penstock::layers::cuda
