#include "layers/ops/lookahead.h"

#include <algorithm>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/for_real.h"

namespace penstock::layers {
namespace {

struct Size {
  std::int64_t channels, context;
};

// [C, K] as [K, C], so that loops run over channels.
template <class T>
T* transposed(const Tensor& weight_CK, std::span<std::byte> workspace) {
  const std::int64_t C = weight_CK.shape[0], K = weight_CK.shape[1];
  const T* from = weight_CK.as<T>();
  T* to = reinterpret_cast<T*>(workspace.data());
  for (std::int64_t c = 0; c < C; ++c)
    for (std::int64_t k = 0; k < K; ++k) to[k * C + c] = from[c * K + k];
  return to;
}

// y += w · x, channel by channel.
template <class T>
void add_product(std::int64_t channels, const T* __restrict w, const T* __restrict x,
                 T* __restrict y) {
  for (std::int64_t c = 0; c < channels; ++c) y[c] += w[c] * x[c];
}

template <class T>
void forward(Size size, std::int64_t frames, const T* weight_KC, const T* x, T* y) {
  const std::int64_t C = size.channels;
  std::fill_n(y, frames * C, T{0});
  for (std::int64_t t = 0; t < frames; ++t)
    for (std::int64_t k = 0; k < std::min(size.context, frames - t); ++k)
      add_product(C, weight_KC + k * C, x + (t + k) * C, y + t * C);
}

template <class T>
void backward_input(Size size, std::int64_t frames, const T* weight_KC, const T* dy, T* dx) {
  const std::int64_t C = size.channels;
  std::fill_n(dx, frames * C, T{0});
  for (std::int64_t t = 0; t < frames; ++t)
    for (std::int64_t k = 0; k < std::min(size.context, t + 1); ++k)
      add_product(C, weight_KC + k * C, dy + (t - k) * C, dx + t * C);
}

template <class T>
void backward_weight(Size size, std::int64_t frames, const T* x, const T* dy, T* d_weight_KC) {
  const std::int64_t C = size.channels;
  for (std::int64_t t = 0; t < frames; ++t)
    for (std::int64_t k = 0; k < std::min(size.context, frames - t); ++k)
      add_product(C, dy + t * C, x + (t + k) * C, d_weight_KC + k * C);
}

}  // namespace

template <>
void CpuBackend::compute(Stream&, const LookaheadForward& op) {
  for_real(op.x_FC.dtype, "LookaheadForward", [&]<class T>(T) {
    const Size size{op.weight_CK.shape[0], op.weight_CK.shape[1]};
    const T* weight = transposed<T>(op.weight_CK, op.workspace);
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
void CpuBackend::compute(Stream&, const LookaheadBackwardInput& op) {
  for_real(op.dy_FC.dtype, "LookaheadBackwardInput", [&]<class T>(T) {
    const Size size{op.weight_CK.shape[0], op.weight_CK.shape[1]};
    const T* weight = transposed<T>(op.weight_CK, op.workspace);
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
void CpuBackend::compute(Stream&, const LookaheadBackwardWeight& op) {
  for_real(op.x_FC.dtype, "LookaheadBackwardWeight", [&]<class T>(T) {
    const std::int64_t C = op.d_weight_CK.shape[0], K = op.d_weight_CK.shape[1];
    T* sums = reinterpret_cast<T*>(op.workspace.data());
    T* d_weight = op.d_weight_CK.as<T>();
    const T* x = op.x_FC.as<T>();
    const T* dy = op.dy_FC.as<T>();
    for (std::int64_t frames : op.lengths) {  // one sum for each utterance: shorter sums round less
      std::fill_n(sums, C * K, T{0});
      backward_weight({C, K}, frames, x, dy, sums);
      for (std::int64_t c = 0; c < C; ++c)
        for (std::int64_t k = 0; k < K; ++k) d_weight[c * K + k] += sums[k * C + c];
      x += frames * C;
      dy += frames * C;
    }
  });
}

}  // namespace penstock::layers
