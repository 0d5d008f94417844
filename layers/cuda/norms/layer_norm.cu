#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/core/reduce.h"
#include "layers/cuda/norms/column_sums.h"
#include "layers/cuda/norms/warp_rows.h"
#include "layers/ops/layer_norm.h"

// LayerNorm and RMSNorm; layers/ops/layer_norm.h has the formulas. A warp takes a row, so its sums
// are combined by shuffles, in a fixed order and without shared memory. Rows are read again from
// cache for each pass. The gradients of weight and bias are sums over all frames, for which
// column_sums.h adds in FP64 and in a fixed order. backward_input computes them, and
// backward_weight adds them up.

namespace penstock::layers {
namespace cuda {
namespace {

/// Returns the mean of term(c) over the channels, to each thread of the warp.
template <class Term>
__device__ float mean_of_row(int channels, Term term) {
  float sum = 0;
  for (int c = thread_x() % kWarp; c < channels; c += kWarp) sum += term(c);
  return combine_warp(sum, Sum()) / static_cast<float>(channels);
}

struct Normalisation {
  const float* weight;
  const float* bias;  // or null
  float* statistics;  // or null
  float epsilon;
  bool centred;
};

/// Layer norm, or RMSNorm if not centred. One warp for each row reads it three times: for the mean,
/// for the variance around it, and for y. The variance has a pass of its own to avoid the
/// cancellation of E[x²] - E[x]². All sums are FP32.
template <class T>
__global__ void normalise_rows(const T* x, T* y, WarpRows size, Normalisation how) {
  const std::int64_t row = WarpRows::row();
  if (row >= size.rows) return;  // whole warps
  const int channels = size.channels;
  x += row * channels;
  y += row * channels;
  const float mean =
      how.centred ? mean_of_row(channels, [=](int c) { return to_float(x[c]); }) : 0.0f;
  const float square = mean_of_row(channels, [=](int c) {
    const float distance = to_float(x[c]) - mean;
    return distance * distance;
  });
  const float inverse_deviation = 1 / sqrtf(square + how.epsilon);
  for (int c = thread_x() % kWarp; c < channels; c += kWarp) {
    const float value = (to_float(x[c]) - mean) * inverse_deviation * how.weight[c];
    y[c] = from_float<T>(how.bias == nullptr ? value : value + how.bias[c]);
  }
  if (how.statistics == nullptr || thread_x() % kWarp != 0) return;
  how.statistics[2 * row] = mean;
  how.statistics[2 * row + 1] = inverse_deviation;
}

template <class T>
struct RowGradients {
  const T* x;
  const T* dy;
  T* dx;
};

/// Computes dx = (g - mean(g) - x_hat · mean(g · x_hat)) / deviation with g = dy · weight. mean(g)
/// counts only if centred. One warp for each row.
template <class T>
__global__ void normalise_rows_backward(RowGradients<T> of, WarpRows size, const float* statistics,
                                        const float* weight, bool centred) {
  const std::int64_t row = WarpRows::row();
  if (row >= size.rows) return;
  const int channels = size.channels;
  const T* const x = of.x + row * channels;
  const T* const dy = of.dy + row * channels;
  T* const dx = of.dx + row * channels;
  const float mean = statistics[2 * row], inverse_deviation = statistics[2 * row + 1];
  const auto g = [=](int c) { return to_float(dy[c]) * weight[c]; };
  const auto x_hat = [=](int c) { return (to_float(x[c]) - mean) * inverse_deviation; };
  const float mean_g = centred ? mean_of_row(channels, g) : 0.0f;
  const float mean_g_x_hat = mean_of_row(channels, [=](int c) { return g(c) * x_hat(c); });
  for (int c = thread_x() % kWarp; c < channels; c += kWarp)
    dx[c] = from_float<T>((g(c) - mean_g - x_hat(c) * mean_g_x_hat) * inverse_deviation);
}

/// Σ dy and Σ dy · x_hat of each channel, a term of column_sums.h.
template <class T>
struct LayerNormReductions {
  static constexpr int kSums = 2;
  const T* x;
  const T* dy;
  const float* statistics;
  int channels;
  __device__ void add(std::int64_t element, int, double* sums) const {
    const std::int64_t row = element / channels;
    const double gradient = to_float(dy[element]);
    const float x_hat = (to_float(x[element]) - statistics[2 * row]) * statistics[2 * row + 1];
    sums[0] += gradient;
    sums[1] += gradient * x_hat;
  }
};

float* data_or_null(const Tensor& tensor) {
  return tensor.data == nullptr ? nullptr : data_of<float>(tensor);
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const LayerNormForward& op) {
  const cuda::WarpRows size(op.x_FC);
  cuda::with_type_of(op.x_FC, "LayerNormForward", [&]<class T>(T) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), size.grid(), cuda::normalise_rows<T>,
                 cuda::data_of<T>(op.x_FC), cuda::data_of<T>(op.y_FC), size,
                 cuda::Normalisation{.weight = cuda::data_of<float>(op.weight_C),
                                     .bias = cuda::data_or_null(op.bias_C),
                                     .statistics = cuda::data_or_null(op.statistics_F2),
                                     .epsilon = static_cast<float>(op.epsilon),
                                     .centred = op.centred});
  });
}

template <>
void CudaBackend::compute(Stream& stream, const LayerNormBackwardInput& op) {
  const cuda::WarpRows size(op.x_FC);
  auto& own = static_cast<CudaStream&>(stream);
  const float* statistics = cuda::data_of<float>(op.statistics_F2);
  cuda::with_type_of(op.x_FC, "LayerNormBackwardInput", [&]<class T>(T) {
    using Term = cuda::LayerNormReductions<T>;
    const T* x = cuda::data_of<T>(op.x_FC);
    const T* dy = cuda::data_of<T>(op.dy_FC);
    auto* const partial =
        own.scratch().take<double>(cuda::partial_count<Term>(size.rows, size.channels));
    cuda::sum_columns(own.handle(), Term{x, dy, statistics, size.channels},
                      {.rows = size.rows,
                       .columns = size.channels,
                       .partial = partial,
                       .sums = cuda::data_of<double>(op.reductions_2C)});
    if (op.dx_FC.data == nullptr) return;
    cuda::launch(own.handle(), size.grid(), cuda::normalise_rows_backward<T>,
                 cuda::RowGradients<T>{x, dy, cuda::data_of<T>(op.dx_FC)}, size, statistics,
                 cuda::data_of<float>(op.weight_C), op.centred);
  });
}

template <>
void CudaBackend::compute(Stream& stream, const LayerNormBackwardWeight& op) {
  const int channels = static_cast<int>(op.d_weight_C.size());
  const cudaStream_t handle = static_cast<CudaStream&>(stream).handle();
  const double* reductions = cuda::data_of<double>(op.reductions_2C);
  cuda::add_to(handle, reductions + channels, channels, cuda::data_of<float>(op.d_weight_C));
  if (op.d_bias_C.data != nullptr)
    cuda::add_to(handle, reductions, channels, cuda::data_of<float>(op.d_bias_C));
}

}  // namespace penstock::layers
