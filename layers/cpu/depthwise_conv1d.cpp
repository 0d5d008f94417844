#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/depthwise_window.h"
#include "layers/cpu/gate_functions.h"
#include "layers/cpu/sizes.h"
#include "layers/ops/conv1d.h"

// Depthwise 1-D convolution of one vector of channels at a time. An utterance's numbers of these
// channels are copied into a window with zeros at both ends, gated on the way. Then tiles of sums
// stay in registers (depthwise_window.h). The gradient of the input is the same convolution of dy
// with the taps reversed.

namespace penstock::layers {
namespace {

/// Some columns of rows that start `stride` numbers apart.
template <class T>
struct Rows {
  T* first;
  std::int64_t stride;
  T* at(std::int64_t row) const { return first + row * stride; }
};

/// The input of the convolution: x, or glu(x).
template <class T, bool kGated>
struct Source {
  Rows<const T> x;
  std::int64_t channels;

  template <class Lanes>
  Halves<T> halves(std::int64_t row, std::int64_t c, Lanes lanes) const {
    return {load<T>(x.at(row) + c, lanes), load<T>(x.at(row) + channels + c, lanes)};
  }
  template <class Lanes>
  Vector<T> value(std::int64_t row, std::int64_t c, Lanes lanes) const {
    if constexpr (kGated)
      return Glu<T>::value(halves(row, c, lanes));
    else
      return load<T>(x.at(row) + c, lanes);
  }
};

/// Calls work(T{}, source) with the number type and the kind of source.
template <class Work>
void with_source(const Tensor& x_FD, std::int64_t channels, bool gated, const char* operation,
                 Work work) {
  for_real(x_FD.dtype, operation, [&]<class T>(T type) {
    const Rows<const T> x{x_FD.as<T>(), gated ? 2 * channels : channels};
    if (gated)
      work(type, Source<T, true>{x, channels});
    else
      work(type, Source<T, false>{x, channels});
  });
}

/// Loads the taps of the channels from c on, in their order or reversed.
template <class T, class Lanes>
void gather_taps(const Tensor& weight_CK, std::int64_t c, Lanes lanes, bool reversed,
                 Vector<T>* to) {
  const std::int64_t K = weight_CK.shape[1];
  const T* from = weight_CK.as<T>() + c * K;
  for (std::int64_t k = 0; k < K; ++k) {
    Vector<T> taps = {};
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      taps[lane] = from[lane * K + (reversed ? K - 1 - k : k)];
    to[k] = taps;
  }
}

/// Returns the parts of the workspace.
template <class T>
cpu::DepthwiseWorkspace<T> capacity_of(std::span<std::byte> workspace, std::int64_t rows,
                                       std::int64_t kernel) {
  Scratch scratch(workspace);
  return {scratch, rows, kernel};
}

}  // namespace

std::size_t cpu::depthwise_conv1d_workspace(const DepthwiseConv1dSize& size, DType dtype) {
  Scratch counted;
  for_real(dtype, "DepthwiseConv1d",
           [&]<class T>(T) { DepthwiseWorkspace<T>(counted, size.rows, size.kernel); });
  return counted.used();
}

template <>
void CpuBackend::compute(Stream&, const DepthwiseConv1dForward& op) {
  const std::int64_t C = op.weight_CK.shape[0], K = op.weight_CK.shape[1];
  with_source(op.x_FD, C, op.gated, "DepthwiseConv1dForward", [&]<class T>(T, const auto& source) {
    const auto room = capacity_of<T>(op.workspace, op.x_FD.shape[0], K);
    const Rows<T> y{op.y_FC.as<T>(), C};
    for_each_vector<T>(C, [&](std::int64_t c, auto lanes) {
      gather_taps<T>(op.weight_CK, c, lanes, false, room.weight);
      const Vector<T> bias =
          op.bias_C.data == nullptr ? Vector<T>{} : load<T>(op.bias_C.as<T>() + c, lanes);
      std::int64_t row = 0;
      for (const std::int64_t frames : op.lengths) {
        cpu::fill_window<T>(room.window, frames, op.left, K,
                            [&](std::int64_t t) { return source.value(row + t, c, lanes); });
        cpu::convolve_window<T>(room.window, frames, op.left, room.weight, K,
                                [&](std::int64_t t, const Vector<T>& sum) {
                                  store<T>(y.at(row + t) + c, sum + bias, lanes);
                                });
        row += frames;
      }
    });
  });
}

// dy passes through the reversed taps, and each sum is the gradient of glu(x) or of x. If gated,
// both halves of x are loaded to turn it into gradients of theirs.
template <>
void CpuBackend::compute(Stream&, const DepthwiseConv1dBackwardInput& op) {
  const std::int64_t C = op.weight_CK.shape[0], K = op.weight_CK.shape[1];
  const std::int64_t after = K - 1 - op.left;  // frames after the present one
  const auto backward = [&]<class T, bool kGated>(T, const Source<T, kGated>& source) {
    const auto room = capacity_of<T>(op.workspace, op.dy_FC.shape[0], K);
    const Rows<const T> dy{op.dy_FC.as<T>(), C};
    const Rows<T> dx{op.dx_FD.as<T>(), source.x.stride};
    for_each_vector<T>(C, [&](std::int64_t c, auto lanes) {
      gather_taps<T>(op.weight_CK, c, lanes, true, room.weight);
      std::int64_t row = 0;
      for (const std::int64_t frames : op.lengths) {
        cpu::fill_window<T>(room.window, frames, after, K,
                            [&](std::int64_t t) { return load<T>(dy.at(row + t) + c, lanes); });
        cpu::convolve_window<T>(
            room.window, frames, after, room.weight, K, [&](std::int64_t t, const Vector<T>& dg) {
              T* const to = dx.at(row + t) + c;
              if constexpr (kGated) {
                const auto gradient = Glu<T>::gradient(source.halves(row + t, c, lanes), dg);
                store<T>(to, gradient.a, lanes);
                store<T>(to + C, gradient.b, lanes);
              } else {
                store<T>(to, dg, lanes);
              }
            });
        row += frames;
      }
    });
  };
  with_source(op.gated ? op.x_FD : op.dy_FC, C, op.gated, "DepthwiseConv1dBackwardInput", backward);
}

template <>
void CpuBackend::compute(Stream&, const DepthwiseConv1dBackwardWeight& op) {
  const std::int64_t C = op.d_weight_CK.shape[0], K = op.d_weight_CK.shape[1];
  const auto backward = [&]<class T>(T, const auto& source) {
    const auto room = capacity_of<T>(op.workspace, op.dy_FC.shape[0], K);
    const Rows<const T> dy{op.dy_FC.as<T>(), C};
    for_each_vector<T>(C, [&](std::int64_t c, auto lanes) {
      T* const d_weight = op.d_weight_CK.as<T>() + c * K;
      std::int64_t row = 0;
      for (const std::int64_t frames : op.lengths) {  // shorter sums round less
        cpu::fill_window<T>(room.window, frames, op.left, K,
                            [&](std::int64_t t) { return source.value(row + t, c, lanes); });
        for (std::int64_t t = 0; t < frames; ++t)
          room.gradient[t] = load<T>(dy.at(row + t) + c, lanes);
        cpu::correlate_window<T>(room.window, room.gradient, frames, K,
                                 [&](std::int64_t k, const Vector<T>& sum) {
                                   for (std::int64_t lane = 0; lane < lanes; ++lane)
                                     d_weight[lane * K + k] += sum[lane];
                                 });
        row += frames;
      }
    });
  };
  with_source(op.x_FD, C, op.gated, "DepthwiseConv1dBackwardWeight", backward);
}

}  // namespace penstock::layers
