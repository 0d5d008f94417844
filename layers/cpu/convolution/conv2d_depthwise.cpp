#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/cpu/convolution/conv2d_methods.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/vector.h"
#include "layers/tensor/tensor.h"

// A row of numbers for one frame and frequency is a vector of channels. Depthwise, an output vector
// is the sum of taps times input vectors, channel by channel. So for each output the taps that meet
// real numbers are listed first, and then one loop over the channels adds up their products in
// registers and writes once. Padding is never read, because taps that meet it are not listed.
//
// Backward to the input is the same with both sides exchanged: an input position lists the outputs
// that see it. As a gather, not a scatter, it writes every number once and adds in a fixed order.
// Backward to the weight adds dy times x for each pair that meets. The weights lie as
// [tap][channel] meanwhile.
//
// Lists for the frequencies are made once per call, those for time once per frame. Each pass takes
// one multiply-add for each tap, frame, frequency and channel.

namespace penstock::layers {
namespace {

/// Copies a depthwise weight [C, K…] as [K…, C] to `workspace`, so that loops run over channels,
/// and returns the copy.
template <class T>
T* channels_last(const Tensor& weight_CK, std::span<std::byte> workspace) {
  const std::int64_t C = weight_CK.shape[0], K = weight_CK.size() / (C > 0 ? C : 1);
  const T* from = weight_CK.as<T>();
  T* to = reinterpret_cast<T*>(workspace.data());
  for (std::int64_t c = 0; c < C; ++c)
    for (std::int64_t k = 0; k < K; ++k) to[k * C + c] = from[c * K + k];
  return to;
}

/// Adds sums [K…, C] to a gradient [C, K…].
template <class T>
void add_channels_first(const T* sums_KC, const Tensor& d_weight_CK) {
  const std::int64_t C = d_weight_CK.shape[0], K = d_weight_CK.size() / (C > 0 ? C : 1);
  T* d_weight = d_weight_CK.as<T>();
  for (std::int64_t c = 0; c < C; ++c)
    for (std::int64_t k = 0; k < K; ++k) d_weight[c * K + k] += sums_KC[k * C + c];
}

/// One step of a kernel along an axis, and the position on the other side that it meets.
struct AxisTap {
  std::int64_t step, position;
};
using AxisTaps = std::vector<AxisTap>;

/// Returns the taps by which the output at `place` sees some of `inputs` positions.
AxisTaps inputs_seen_by(const Conv2dAxis& axis, std::int64_t place, std::int64_t inputs) {
  AxisTaps taps;
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    const std::int64_t position = place * axis.stride + k - axis.padding;
    if (position >= 0 && position < inputs) taps.push_back({k, position});
  }
  return taps;
}

/// Returns the taps by which some of `outputs` positions see the input at `place`.
AxisTaps outputs_seeing(const Conv2dAxis& axis, std::int64_t place, std::int64_t outputs) {
  AxisTaps taps;
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    const std::int64_t from = place + axis.padding - k;
    if (from >= 0 && from % axis.stride == 0 && from / axis.stride < outputs)
      taps.push_back({k, from / axis.stride});
  }
  return taps;
}

using TapsOf = AxisTaps (*)(const Conv2dAxis&, std::int64_t, std::int64_t);

std::vector<AxisTaps> all_taps(TapsOf taps_of, const Conv2dAxis& axis, std::int64_t places,
                               std::int64_t others) {
  std::vector<AxisTaps> all;
  for (std::int64_t place = 0; place < places; ++place) all.push_back(taps_of(axis, place, others));
  return all;
}

/// A tap's weights of all channels, and the numbers that they multiply.
template <class T>
struct Meeting {
  const T* weight_C;
  const T* from_C;
};

template <class T>
void sum_of_products(const std::vector<Meeting<T>>& meetings, std::int64_t channels, T* to_C) {
  for_each_vector<T>(channels, [&](std::int64_t c, auto lanes) {
    Vector<T> sum = {};
    for (const auto& [weight_C, from_C] : meetings)
      sum += load(weight_C + c, lanes) * load(from_C + c, lanes);
    store(to_C + c, sum, lanes);
  });
}

template <class T>
void add_product(std::int64_t channels, const T* a_C, const T* b_C, T* sum_C) {
  for_each_vector<T>(channels, [&](std::int64_t c, auto lanes) {
    store(sum_C + c, load(sum_C + c, lanes) + load(a_C + c, lanes) * load(b_C + c, lanes), lanes);
  });
}

/// Computes rows of one side of a convolution from rows of the other: outputs from inputs, or input
/// gradients from output gradients.
template <class T>
struct Side {
  const Conv2dAxis& axis;  // of time
  TapsOf taps_of;
  std::int64_t channels, frequencies, other_frequencies;
  std::vector<AxisTaps> frequency_taps;
  const T* weight_KC;

  const T* weight(std::int64_t frequency_step, std::int64_t time_step) const {
    return weight_KC + (frequency_step * axis.kernel + time_step) * channels;
  }
  void fill(std::int64_t frames, std::int64_t other_frames, const T* from, T* to) const {
    std::vector<Meeting<T>> meetings;
    for (std::int64_t t = 0; t < frames; ++t) {
      const AxisTaps time_taps = taps_of(axis, t, other_frames);
      for (const AxisTaps& taps : frequency_taps) {
        meetings.clear();
        for (const AxisTap& time : time_taps)
          for (const AxisTap& tap : taps)
            meetings.push_back(
                {weight(tap.step, time.step),
                 from + (time.position * other_frequencies + tap.position) * channels});
        sum_of_products(meetings, channels, to);
        to += channels;
      }
    }
  }
};

template <class T>
void add_weight_gradient(const Conv2dGeometry& g, std::int64_t frames, const T* x, const T* dy,
                         T* sums_KC) {
  const std::int64_t C = g.in_channels;
  const auto frequency_taps =
      all_taps(inputs_seen_by, g.frequency, g.out_frequencies(), g.in_frequencies);
  for (std::int64_t t = 0; t < g.time.outputs(frames); ++t) {
    const AxisTaps time_taps = inputs_seen_by(g.time, t, frames);
    for (const AxisTaps& taps : frequency_taps) {
      for (const AxisTap& time : time_taps)
        for (const AxisTap& tap : taps)
          add_product(C, dy, x + (time.position * g.in_frequencies + tap.position) * C,
                      sums_KC + (tap.step * g.time.kernel + time.step) * C);
      dy += C;
    }
  }
}

}  // namespace

Workspace conv2d_depthwise::workspace(const Conv2dGeometry& geometry, DType dtype) {
  const std::size_t bytes =
      static_cast<std::size_t>(element_count(geometry.weight_shape())) * size_of(dtype);
  return {bytes, bytes, bytes};
}

void conv2d_depthwise::run(Stream&, const Conv2dForward& op) {
  for_real(op.x_FC.dtype, "Conv2dForward", [&]<class T>(T) {
    const Conv2dGeometry& g = op.geometry;
    const std::int64_t out = g.out_frequencies();
    const Side<T> side{g.time,
                       inputs_seen_by,
                       g.in_channels,
                       out,
                       g.in_frequencies,
                       all_taps(inputs_seen_by, g.frequency, out, g.in_frequencies),
                       channels_last<T>(op.weight, op.workspace)};
    const T* x = op.x_FC.as<T>();
    T* y = op.y_FC.as<T>();
    for (const std::int64_t frames : g.lengths) {
      side.fill(g.time.outputs(frames), frames, x, y);
      x += frames * g.in_columns();
      y += g.time.outputs(frames) * g.out_columns();
    }
  });
}

void conv2d_depthwise::run(Stream&, const Conv2dBackwardInput& op) {
  for_real(op.dy_FC.dtype, "Conv2dBackwardInput", [&]<class T>(T) {
    const Conv2dGeometry& g = op.geometry;
    const std::int64_t out = g.out_frequencies();
    const Side<T> side{g.time,
                       outputs_seeing,
                       g.in_channels,
                       g.in_frequencies,
                       out,
                       all_taps(outputs_seeing, g.frequency, g.in_frequencies, out),
                       channels_last<T>(op.weight, op.workspace)};
    const T* dy = op.dy_FC.as<T>();
    T* dx = op.dx_FC.as<T>();
    for (const std::int64_t frames : g.lengths) {
      side.fill(frames, g.time.outputs(frames), dy, dx);
      dy += g.time.outputs(frames) * g.out_columns();
      dx += frames * g.in_columns();
    }
  });
}

void conv2d_depthwise::run(Stream&, const Conv2dBackwardWeight& op) {
  for_real(op.x_FC.dtype, "Conv2dBackwardWeight", [&]<class T>(T) {
    const Conv2dGeometry& g = op.geometry;
    T* sums = reinterpret_cast<T*>(op.workspace.data());
    const T* x = op.x_FC.as<T>();
    const T* dy = op.dy_FC.as<T>();
    for (const std::int64_t frames : g.lengths) {  // one sum for each: shorter sums round less
      std::fill_n(sums, op.dweight.size(), T{0});
      add_weight_gradient(g, frames, x, dy, sums);
      add_channels_first(sums, op.dweight);
      x += frames * g.in_columns();
      dy += g.time.outputs(frames) * g.out_columns();
    }
  });
}

}  // namespace penstock::layers
