#include "layers/ops/depthwise_conv1d.h"

#include <algorithm>

#include "layers/cpu/channels_last.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/for_real.h"

namespace penstock::layers {
namespace {

struct Size {
  std::int64_t channels, kernel, left;
};

// Taps that meet a frame: those whose frame t + k - left is one of the utterance's.
struct Taps {
  Taps(const Size& size, std::int64_t t, std::int64_t frames)
      : first(std::max<std::int64_t>(0, size.left - t)),
        end(std::min(size.kernel, frames - t + size.left)) {}
  std::int64_t first, end;
};

// y += w · x, channel by channel.
template <class T>
void add_product(std::int64_t channels, const T* __restrict w, const T* __restrict x,
                 T* __restrict y) {
  for (std::int64_t c = 0; c < channels; ++c) y[c] += w[c] * x[c];
}

template <class T>
void forward(const Size& size, std::int64_t frames, const T* weight_KC, const T* x, T* y) {
  const std::int64_t C = size.channels;
  std::fill_n(y, frames * C, T{0});
  for (std::int64_t t = 0; t < frames; ++t) {
    const Taps taps(size, t, frames);
    for (std::int64_t k = taps.first; k < taps.end; ++k)
      add_product(C, weight_KC + k * C, x + (t + k - size.left) * C, y + t * C);
  }
}

template <class T>
void backward_input(const Size& size, std::int64_t frames, const T* weight_KC, const T* dy, T* dx) {
  const std::int64_t C = size.channels;
  std::fill_n(dx, frames * C, T{0});
  for (std::int64_t t = 0; t < frames; ++t) {
    const std::int64_t first = std::max<std::int64_t>(0, t + size.left - frames + 1);
    const std::int64_t end = std::min(size.kernel, t + size.left + 1);
    for (std::int64_t k = first; k < end; ++k)
      add_product(C, weight_KC + k * C, dy + (t - k + size.left) * C, dx + t * C);
  }
}

template <class T>
void backward_weight(const Size& size, std::int64_t frames, const T* x, const T* dy,
                     T* d_weight_KC) {
  const std::int64_t C = size.channels;
  for (std::int64_t t = 0; t < frames; ++t) {
    const Taps taps(size, t, frames);
    for (std::int64_t k = taps.first; k < taps.end; ++k)
      add_product(C, dy + t * C, x + (t + k - size.left) * C, d_weight_KC + k * C);
  }
}

}  // namespace

template <>
void CpuBackend::compute(Stream&, const DepthwiseConv1dForward& op) {
  for_real(op.x_FC.dtype, "DepthwiseConv1dForward", [&]<class T>(T) {
    const Size size{op.weight_CK.shape[0], op.weight_CK.shape[1], op.left};
    const T* weight = channels_last<T>(op.weight_CK, op.workspace);
    const T* x = op.x_FC.as<T>();
    T* y = op.y_FC.as<T>();
    for (std::int64_t frames : op.lengths) {
      forward(size, frames, weight, x, y);
      x += frames * size.channels;
      y += frames * size.channels;
    }
  });
}

template <>
void CpuBackend::compute(Stream&, const DepthwiseConv1dBackwardInput& op) {
  for_real(op.dy_FC.dtype, "DepthwiseConv1dBackwardInput", [&]<class T>(T) {
    const Size size{op.weight_CK.shape[0], op.weight_CK.shape[1], op.left};
    const T* weight = channels_last<T>(op.weight_CK, op.workspace);
    const T* dy = op.dy_FC.as<T>();
    T* dx = op.dx_FC.as<T>();
    for (std::int64_t frames : op.lengths) {
      backward_input(size, frames, weight, dy, dx);
      dy += frames * size.channels;
      dx += frames * size.channels;
    }
  });
}

template <>
void CpuBackend::compute(Stream&, const DepthwiseConv1dBackwardWeight& op) {
  for_real(op.x_FC.dtype, "DepthwiseConv1dBackwardWeight", [&]<class T>(T) {
    const std::int64_t C = op.d_weight_CK.shape[0], K = op.d_weight_CK.shape[1];
    T* sums = reinterpret_cast<T*>(op.workspace.data());
    const T* x = op.x_FC.as<T>();
    const T* dy = op.dy_FC.as<T>();
    for (std::int64_t frames : op.lengths) {  // one sum for each utterance: shorter sums round less
      std::fill_n(sums, C * K, T{0});
      backward_weight({C, K, op.left}, frames, x, dy, sums);
      add_channels_first(sums, op.d_weight_CK);
      x += frames * C;
      dy += frames * C;
    }
  });
}

}  // namespace penstock::layers
