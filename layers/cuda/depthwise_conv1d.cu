#include "layers/cuda/column_sums.h"
#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/numbers.h"
#include "layers/cuda/utterances.h"
#include "layers/ops/depthwise_conv1d.h"
#include "layers/ops/gate.h"

namespace penstock::layers {
namespace cuda {
namespace {

struct DepthwiseSize {
  DepthwiseSize(const Tensor& frames_FC, const Tensor& weight_CK, std::int64_t before)
      : rows(frames_FC.shape.at(0)),
        left(before),
        channels(static_cast<int>(weight_CK.shape.at(0))),
        kernel(static_cast<int>(weight_CK.shape.at(1))) {}
  std::int64_t rows, left;
  int channels, kernel;
};

/// Taps of each channel, and what is added to their sums.
template <class T>
struct DepthwiseTaps {
  const T* weight_CK;
  const T* bias_C;  // or null
};

template <class T>
__global__ void convolve_frames(const T* x, T* y, DepthwiseTaps<T> taps, DepthwiseSize size,
                                Utterances utterances) {
  const std::int64_t i = grid_thread();
  if (i >= size.rows * size.channels) return;
  const std::int64_t row = i / size.channels, from = row - size.left;
  const std::int64_t begin = utterances.begin(row), end = utterances.end(row);
  const T* const weight = taps.weight_CK + (i % size.channels) * size.kernel;
  float sum = 0;
  for (std::int64_t k = 0; k < size.kernel; ++k)
    if (from + k >= begin && from + k < end)
      sum += to_float(weight[k]) * to_float(x[i + (k - size.left) * size.channels]);
  if (taps.bias_C != nullptr) sum += to_float(taps.bias_C[i % size.channels]);
  y[i] = from_float<T>(sum);
}

template <class T>
__global__ void convolve_frames_back(const T* dy, T* dx, DepthwiseTaps<T> taps, DepthwiseSize size,
                                     Utterances utterances) {
  const std::int64_t i = grid_thread();
  if (i >= size.rows * size.channels) return;
  const std::int64_t row = i / size.channels, from = row + size.left;
  const std::int64_t begin = utterances.begin(row), end = utterances.end(row);
  const T* const weight = taps.weight_CK + (i % size.channels) * size.kernel;
  float sum = 0;
  for (std::int64_t k = 0; k < size.kernel; ++k)
    if (from - k >= begin && from - k < end)
      sum += to_float(weight[k]) * to_float(dy[i + (size.left - k) * size.channels]);
  dx[i] = from_float<T>(sum);
}

/// Columns are [k][channel], so that neighbouring threads read neighbouring channels.
template <class T>
struct DepthwiseWeightGradient {
  static constexpr int kSums = 1;
  const T* x;
  const T* dy;
  Utterances utterances;
  DepthwiseSize size;
  __device__ void add(std::int64_t element, int column, double* sums) const {
    const int channels = size.channels;
    const std::int64_t row = element / (channels * size.kernel);
    const std::int64_t from = row + column / channels - size.left, channel = column % channels;
    if (from < utterances.begin(row) || from >= utterances.end(row)) return;
    sums[0] += static_cast<double>(to_float(dy[row * channels + channel])) *
               static_cast<double>(to_float(x[from * channels + channel]));
  }
};

__global__ void add_transposed(const double* sums_KC, int channels, int kernel, float* d_weight) {
  const std::int64_t i = grid_thread();
  if (i >= channels * kernel) return;
  const std::int64_t channel = i / kernel, k = i % kernel;
  d_weight[i] += static_cast<float>(sums_KC[k * channels + channel]);
}

struct Operands {
  const Tensor& from;
  const Tensor& to;
  const Tensor& weight_CK;
  const Tensor& bias_C;
  std::int64_t left;
  std::span<const std::int64_t> lengths;
};

/// The workspace as frames of the convolution's channels.
Tensor in_workspace(std::span<std::byte> workspace, const Tensor& like_FC) {
  auto* const data = Scratch(workspace).take<std::byte>(static_cast<std::int64_t>(like_FC.bytes()));
  return {data, like_FC.dtype, like_FC.shape};
}

/// Forward or its mirror image.
template <class Kernel>
void convolve(CudaStream& stream, const char* operation, const Operands& operands, Kernel kernel) {
  const DepthwiseSize size(operands.from, operands.weight_CK, operands.left);
  Scratch scratch = stream.scratch();
  const Utterances utterances =
      upload_utterances(stream, operands.lengths, UtterancesRoom(scratch, operands.lengths));
  with_type_of(operands.from, operation, [&]<class T>(T type) {
    launch(
        stream.handle(), grid_over(size.rows * size.channels), kernel(type),
        data_of<T>(operands.from), data_of<T>(operands.to),
        DepthwiseTaps<T>{data_of<T>(operands.weight_CK),
                         operands.bias_C.data == nullptr ? nullptr : data_of<T>(operands.bias_C)},
        size, utterances);
  });
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const DepthwiseConv1dForward& op) {
  const Tensor g_FC = op.gated ? cuda::in_workspace(op.workspace, op.y_FC) : op.x_FD;
  if (op.gated) run(stream, GateForward{GateKind::glu, op.x_FD, g_FC});
  cuda::convolve(static_cast<CudaStream&>(stream), "DepthwiseConv1dForward",
                 {g_FC, op.y_FC, op.weight_CK, op.bias_C, op.left, op.lengths},
                 []<class T>(T) { return cuda::convolve_frames<T>; });
}

template <>
void CudaBackend::compute(Stream& stream, const DepthwiseConv1dBackwardInput& op) {
  const Tensor dg_FC = op.gated ? cuda::in_workspace(op.workspace, op.dy_FC) : op.dx_FD;
  cuda::convolve(static_cast<CudaStream&>(stream), "DepthwiseConv1dBackwardInput",
                 {op.dy_FC, dg_FC, op.weight_CK, {}, op.left, op.lengths},
                 []<class T>(T) { return cuda::convolve_frames_back<T>; });
  if (op.gated) run(stream, GateBackward{GateKind::glu, op.x_FD, dg_FC, op.dx_FD});
}

template <>
void CudaBackend::compute(Stream& stream, const DepthwiseConv1dBackwardWeight& op) {
  auto& own = static_cast<CudaStream&>(stream);
  const cuda::DepthwiseSize size(op.dy_FC, op.d_weight_CK, op.left);
  const Tensor g_FC = op.gated ? cuda::in_workspace(op.workspace, op.dy_FC) : op.x_FD;
  if (op.gated) run(stream, GateForward{GateKind::glu, op.x_FD, g_FC});
  const int columns = size.channels * size.kernel;
  cuda::with_type_of(op.dy_FC, "DepthwiseConv1dBackwardWeight", [&]<class T>(T) {
    using Term = cuda::DepthwiseWeightGradient<T>;
    Scratch scratch = own.scratch();
    const cuda::UtterancesRoom room(scratch, op.lengths);
    auto* const sums = scratch.take<double>(columns);
    auto* const partial = scratch.take<double>(cuda::partial_count<Term>(size.rows, columns));
    const Term term{cuda::data_of<T>(g_FC), cuda::data_of<T>(op.dy_FC),
                    cuda::upload_utterances(own, op.lengths, room), size};
    cuda::sum_columns(own.handle(), term,
                      {.rows = size.rows, .columns = columns, .partial = partial, .sums = sums});
    cuda::launch(own.handle(), cuda::grid_over(columns), cuda::add_transposed, sums, size.channels,
                 size.kernel, cuda::data_of<float>(op.d_weight_CK));
  });
}

}  // namespace penstock::layers
