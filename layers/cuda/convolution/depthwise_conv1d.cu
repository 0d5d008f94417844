#include "layers/cuda/convolution/depthwise_conv1d.h"
#include "layers/cuda/core/cuda_backend.h"
#include "layers/ops/conv1d.h"

// One kernel serves forward and the gradient of the input, which is a convolution as well: of dy,
// with the taps reversed and with as many frames before the present one as there were after it. The
// two differ in where numbers come from (`Source`: x, glu(x) or dy) and in what becomes of a sum
// (`Sums`: an output with its bias, or the gradients of both halves of a gated x). So gated inputs
// and their gradients need no memory of their own.

namespace penstock::layers {
namespace cuda {
namespace {

/// Taps of each channel, in their order or reversed.
template <class T>
struct DepthwiseTaps {
  const T* weight_CK;
  bool reversed;
  __device__ float at(int channel, int k, int kernel) const {
    return to_float(weight_CK[channel * std::int64_t{kernel} + (reversed ? kernel - 1 - k : k)]);
  }
};

/// Stores sums as outputs, and adds the bias.
template <class T>
struct BiasedSums {
  T* y;
  const T* bias_C;  // or null
  int channels;
  __device__ void put(std::int64_t row, int channel, float sum) const {
    if (bias_C != nullptr) sum += to_float(bias_C[channel]);
    y[row * channels + channel] = from_float<T>(sum);
  }
};

/// Stores sums, which are gradients of glu(x), as gradients of both halves of x.
template <class T>
struct GateGradients {
  DepthwiseSource<T, true> x;
  T* dx;
  __device__ void put(std::int64_t row, int channel, float sum) const {
    const HalfRows gradient = Glu::gradient(x.halves(row, channel), sum);
    T* const to = dx + row * 2 * x.channels + channel;
    to[0] = from_float<T>(gradient.a);
    to[x.channels] = from_float<T>(gradient.b);
  }
};

/// Convolves a tile of kWindowFrames frames of 32 channels. A block has 8 × 32 threads; each owns
/// one channel and eight frames, and sums in FP32 in registers. For every kWindowTaps taps the
/// block loads their window of frames and the taps into 24 KiB of shared memory.
template <class Source, class Taps, class Sums>
__global__ void convolve_frames(Source source, Taps taps, Sums to, DepthwiseSize size,
                                Utterances utterances) {
  BLOCK_SHARED(float, window, [kWindowRows][kTileColumns]);
  BLOCK_SHARED(float, weight, [kWindowTaps][kTileColumns]);
  const int lane = thread_x(), channel = static_cast<int>(block_y()) * kTileColumns + lane;
  const std::int64_t first = block_x() * kWindowFrames;
  float sums[kWindowFrames / kTileRows] = {};
  for (int tap = 0; tap < size.kernel; tap += kWindowTaps) {
    const int count = size.kernel - tap < kWindowTaps ? size.kernel - tap : kWindowTaps;
    fill_window(window, source, size, first + tap - size.left, kWindowFrames + count - 1, channel);
    for (int k = thread_y(); k < count; k += kTileRows)
      weight[k][lane] = channel < size.channels ? taps.at(channel, tap + k, size.kernel) : 0.0f;
    __syncthreads();
    UNROLLED
    for (int j = 0; j < kWindowFrames / kTileRows; ++j) {
      const int i = thread_y() + j * kTileRows;
      if (first + i >= size.rows) continue;
      const TapRange seen = taps_seen(utterances, first + i, first + i + tap - size.left, count);
      for (int k = seen.first; k < seen.end; ++k) sums[j] += weight[k][lane] * window[i + k][lane];
    }
    __syncthreads();
  }
  UNROLLED
  for (int j = 0; j < kWindowFrames / kTileRows; ++j) {
    const std::int64_t row = first + thread_y() + j * kTileRows;
    if (row < size.rows && channel < size.channels) to.put(row, channel, sums[j]);
  }
}

template <class Source, class Taps, class Sums>
void convolve(CudaStream& stream, const Source& source, const Taps& taps, const Sums& to,
              const DepthwiseSize& size, std::span<const std::int64_t> lengths) {
  Scratch scratch = stream.scratch();
  const Utterances utterances =
      upload_utterances(stream, lengths, UtterancesWorkspace(scratch, lengths));
  const Grid grid{dim3(static_cast<unsigned>((size.rows + kWindowFrames - 1) / kWindowFrames),
                       static_cast<unsigned>((size.channels + kTileColumns - 1) / kTileColumns)),
                  dim3(kTileColumns, kTileRows)};
  launch(stream.handle(), grid, convolve_frames<Source, Taps, Sums>, source, taps, to, size,
         utterances);
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const DepthwiseConv1dForward& op) {
  const cuda::DepthwiseSize size = cuda::depthwise_size(op.y_FC, op.weight_CK, op.left);
  cuda::with_type_of(op.x_FD, "DepthwiseConv1dForward", [&]<class T>(T) {
    const T* const bias = op.bias_C.data == nullptr ? nullptr : cuda::data_of<T>(op.bias_C);
    const cuda::BiasedSums<T> to{cuda::data_of<T>(op.y_FC), bias, size.channels};
    const cuda::DepthwiseTaps<T> taps{cuda::data_of<T>(op.weight_CK), false};
    cuda::with_source<T>(op.x_FD, size.channels, op.gated, [&](const auto& x) {
      cuda::convolve(static_cast<CudaStream&>(stream), x, taps, to, size, op.lengths);
    });
  });
}

/// Convolves dy with the taps reversed, which gives the gradient of the input.
template <>
void CudaBackend::compute(Stream& stream, const DepthwiseConv1dBackwardInput& op) {
  const std::int64_t after = op.weight_CK.shape.at(1) - 1 - op.left;
  const cuda::DepthwiseSize size = cuda::depthwise_size(op.dy_FC, op.weight_CK, after);
  cuda::with_type_of(op.dy_FC, "DepthwiseConv1dBackwardInput", [&]<class T>(T) {
    auto& own = static_cast<CudaStream&>(stream);
    const cuda::DepthwiseSource<T, false> dy{cuda::data_of<T>(op.dy_FC), size.channels};
    const cuda::DepthwiseTaps<T> taps{cuda::data_of<T>(op.weight_CK), true};
    T* const dx = cuda::data_of<T>(op.dx_FD);
    if (op.gated)
      cuda::convolve(own, dy, taps,
                     cuda::GateGradients<T>{{cuda::data_of<T>(op.x_FD), size.channels}, dx}, size,
                     op.lengths);
    else
      cuda::convolve(own, dy, taps, cuda::BiasedSums<T>{dx, nullptr, size.channels}, size,
                     op.lengths);
  });
}

}  // namespace penstock::layers
