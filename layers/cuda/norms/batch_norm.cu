#include <type_traits>

#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/elementwise/elementwise.h"
#include "layers/cuda/elementwise/gate_functions.h"
#include "layers/cuda/norms/column_sums.h"
#include "layers/ops/batch_norm.h"

// Batch normalisation (Ioffe & Szegedy 2015). Training makes two passes over x before it
// normalises: one for the mean, and one for Σ (x - mean)² around it, which avoids the cancellation
// of E[x²] - E[x]². Both are column sums in FP64 in a fixed order (column_sums.h). Backward takes
// the column sums Σ dz and Σ dz · x_hat, and then one elementwise pass for dx. SiLU is fused with
// both: backward recomputes z from x instead of reading it.

namespace penstock::layers {
namespace cuda {
namespace {

/// Size of x as a matrix with one column for each channel.
struct BatchNormSize {
  explicit BatchNormSize(const Tensor& x, const Tensor& weight_C)
      : channels(static_cast<int>(weight_C.size())),
        rows(channels == 0 ? 0 : x.size() / channels) {}
  MatrixSize matrix() const { return {rows, channels}; }
  int channels;
  std::int64_t rows;
};

/// Sums a channel's numbers for its mean, as a term of column_sums.h.
template <class T>
struct Values {
  static constexpr int kSums = 1;
  const T* x;
  __device__ void add(std::int64_t element, int, double* sums) const {
    sums[0] += to_float(x[element]);
  }
};

/// Sums (x - mean)² for the variance. The distance is FP64, so that a mean far from zero costs no
/// digits.
template <class T>
struct SquaredDistances {
  static constexpr int kSums = 1;
  const T* x;
  const double* mean;
  __device__ void add(std::int64_t element, int channel, double* sums) const {
    const double distance = to_float(x[element]) - mean[channel];
    sums[0] += distance * distance;
  }
};

__global__ void invert_deviations(const double* squares, int channels, double n, double epsilon,
                                  double* inverse_deviation) {
  const std::int64_t c = grid_thread();
  if (c < channels) inverse_deviation[c] = 1 / sqrt(squares[c] / n + epsilon);
}

/// The affine map z = weight · x_hat + bias of a channel. activate() then applies SiLU or nothing.
struct Affine {
  const float* weight;
  const float* bias;
  __device__ float operator()(float distance, float inverse_deviation, int c) const {
    return distance * (inverse_deviation * weight[c]) + bias[c];
  }
};

template <bool kSilu>
__device__ float activate(float z) {
  if constexpr (kSilu)
    return Silu::value(z);
  else
    return z;
}

/// Batch statistics and the affine map by which training normalises. The mean is subtracted in
/// FP64, so that one far from zero costs x no digits.
struct Normaliser {
  const double* mean;
  const double* inverse_deviation;
  Affine affine;
  __device__ float operator()(float x, int c) const {
    return affine(static_cast<float>(x - mean[c]), static_cast<float>(inverse_deviation[c]), c);
  }
  /// Returns the gradient of z. For SiLU it recomputes z from x.
  template <bool kSilu>
  __device__ float gradient(float x, float dy, int c) const {
    if constexpr (kSilu)
      return dy * Silu::slope((*this)(x, c));
    else
      return dy;
  }
};

/// Sums dz and dz · x_hat of a channel.
template <class T, bool kSilu>
struct Reductions {
  static constexpr int kSums = 2;
  const T* x;
  const T* dy;
  Normaliser by;
  __device__ void add(std::int64_t element, int channel, double* sums) const {
    const float value = to_float(x[element]);
    const double dz = by.gradient<kSilu>(value, to_float(dy[element]), channel);
    sums[0] += dz;
    sums[1] += dz * (value - by.mean[channel]) * by.inverse_deviation[channel];
  }
};

template <bool kSilu>
struct Normalise {
  Normaliser by;
  __device__ float operator()(const Cell& cell, float x) const {
    return activate<kSilu>(by(x, static_cast<int>(cell.column)));
  }
};

/// Normalises by running statistics, in evaluation.
template <bool kSilu, class State>
struct NormaliseByState {
  const State *mean, *variance;
  double epsilon;
  Affine affine;
  __device__ float operator()(const Cell& cell, float x) const {
    const int c = static_cast<int>(cell.column);
    const double inverse_deviation = 1 / sqrt(static_cast<double>(variance[c]) + epsilon);
    const auto distance = static_cast<float>(x - static_cast<double>(mean[c]));
    return activate<kSilu>(affine(distance, static_cast<float>(inverse_deviation), c));
  }
};

/// Computes dx = weight / deviation · (dz - Σ dz / n - x_hat · Σ (dz · x_hat) / n).
template <bool kSilu>
struct NormaliseBackward {
  Normaliser by;
  const double* reductions;
  double n;
  int channels;
  __device__ float operator()(const Cell& cell, float x, float dy) const {
    const int c = static_cast<int>(cell.column);
    const double inverse_deviation = by.inverse_deviation[c];
    const float dz = by.gradient<kSilu>(x, dy, c);
    const auto x_hat = static_cast<float>((x - by.mean[c]) * inverse_deviation);
    const auto mean_dz = static_cast<float>(reductions[c] / n);
    const auto mean_dz_x_hat = static_cast<float>(reductions[channels + c] / n);
    const float scale = static_cast<float>(inverse_deviation) * by.affine.weight[c];
    return scale * (dz - mean_dz - x_hat * mean_dz_x_hat);
  }
};

/// Mean and Σ (x - mean)² of each channel over a step, and the factor 1 / (n - 1) that turns the
/// latter into a variance.
struct StepStatistics {
  const double* statistics;
  int channels;
  double to_variance;
};

/// Sets each running statistic to (1 - momentum) · itself + momentum · the step's, in FP64.
__global__ void move_towards(StepStatistics step, double momentum, float* mean, float* variance) {
  const std::int64_t c = grid_thread();
  if (c >= step.channels) return;
  const double squares = step.statistics[step.channels + c];
  mean[c] = static_cast<float>((1 - momentum) * mean[c] + momentum * step.statistics[c]);
  variance[c] =
      static_cast<float>((1 - momentum) * variance[c] + momentum * squares * step.to_variance);
}

__global__ void add_reductions(const double* reductions, int channels, float* d_weight,
                               float* d_bias) {
  const std::int64_t c = grid_thread();
  if (c >= channels) return;
  d_bias[c] += static_cast<float>(reductions[c]);
  d_weight[c] += static_cast<float>(reductions[channels + c]);
}

/// Calls work(T{}, silu) with the number type of `x` and `silu` as a type.
template <class Work>
void with_activation(const Tensor& x, bool silu, const char* operation, Work work) {
  with_type_of(x, operation, [&]<class T>(T type) {
    if (silu)
      work(type, std::true_type{});
    else
      work(type, std::false_type{});
  });
}

}  // namespace
}  // namespace cuda

// The host sets the count in op.sums at once. Mean and squares arrive there when the stream is
// synchronized.
// Without any row, n is 1, so that the mean is 0 and not NaN.
template <>
void CudaBackend::compute(Stream& stream, const BatchNormForward& op) {
  const cuda::BatchNormSize size(op.x, op.weight_C);
  auto& own = static_cast<CudaStream&>(stream);
  const double n = std::max<double>(1, static_cast<double>(size.rows));
  const auto channels = static_cast<std::size_t>(size.channels);
  auto* mean = cuda::data_of<double>(op.statistics);
  auto* inverse_deviation = mean + channels;
  cuda::with_activation(op.x, op.silu, "BatchNormForward", [&]<class T, class S>(T, S) {
    const T* x = cuda::data_of<T>(op.x);
    Scratch scratch = own.scratch();
    auto* const squares = scratch.take<double>(size.channels);
    auto* const partial =
        scratch.take<double>(cuda::partial_count<cuda::Values<T>>(size.rows, size.channels));
    cuda::sum_columns(own.handle(), cuda::Values<T>{x},
                      {.rows = size.rows,
                       .columns = size.channels,
                       .factor = 1 / n,
                       .partial = partial,
                       .sums = mean});
    cuda::sum_columns(
        own.handle(), cuda::SquaredDistances<T>{x, mean},
        {.rows = size.rows, .columns = size.channels, .partial = partial, .sums = squares});
    cuda::launch(own.handle(), cuda::grid_over(size.channels), cuda::invert_deviations, squares,
                 size.channels, n, op.epsilon, inverse_deviation);
    const cuda::Affine affine{cuda::data_of<float>(op.weight_C), cuda::data_of<float>(op.bias_C)};
    cuda::map(own.handle(), size.matrix(),
              cuda::Normalise<S::value>{{mean, inverse_deviation, affine}},
              cuda::rows_to<T>(op.y, size.channels), cuda::rows_of<T>(op.x, size.channels));
    if (op.sums.empty()) return;
    op.sums[0] = static_cast<double>(size.rows);
    own.copy_out(op.sums.data() + 1, mean, channels * sizeof(double));
    own.copy_out(op.sums.data() + 1 + channels, squares, channels * sizeof(double));
  });
}

template <>
void CudaBackend::compute(Stream& stream, const BatchNormInference& op) {
  const cuda::BatchNormSize size(op.x, op.weight_C);
  const auto normalise = [&]<class T, class S, class State>(T, S, State) {
    cuda::map(static_cast<CudaStream&>(stream).handle(), size.matrix(),
              cuda::NormaliseByState<S::value, State>{
                  cuda::data_of<State>(op.mean_C),
                  cuda::data_of<State>(op.variance_C),
                  op.epsilon,
                  {cuda::data_of<float>(op.weight_C), cuda::data_of<float>(op.bias_C)}},
              cuda::rows_to<T>(op.y, size.channels), cuda::rows_of<T>(op.x, size.channels));
  };
  cuda::with_activation(op.x, op.silu, "BatchNormInference", [&](auto type, auto silu) {
    if (op.mean_C.dtype == DType::f64)
      normalise(type, silu, double{});
    else
      normalise(type, silu, float{});
  });
}

template <>
void CudaBackend::compute(Stream& stream, const BatchNormBackwardInput& op) {
  const cuda::BatchNormSize size(op.x, op.weight_C);
  auto& own = static_cast<CudaStream&>(stream);
  const double* statistics = cuda::data_of<double>(op.statistics);
  auto* reductions = cuda::data_of<double>(op.reductions);
  const cuda::Normaliser by{
      statistics,
      statistics + size.channels,
      {cuda::data_of<float>(op.weight_C), op.silu ? cuda::data_of<float>(op.bias_C) : nullptr}};
  cuda::with_activation(op.x, op.silu, "BatchNormBackwardInput", [&]<class T, class S>(T, S) {
    using Term = cuda::Reductions<T, S::value>;
    const T* x = cuda::data_of<T>(op.x);
    const T* dy = cuda::data_of<T>(op.dy);
    auto* const partial =
        own.scratch().take<double>(cuda::partial_count<Term>(size.rows, size.channels));
    cuda::sum_columns(
        own.handle(), Term{x, dy, by},
        {.rows = size.rows, .columns = size.channels, .partial = partial, .sums = reductions});
    if (op.dx.data == nullptr) return;
    cuda::map(own.handle(), size.matrix(),
              cuda::NormaliseBackward<S::value>{by, reductions, static_cast<double>(size.rows),
                                                size.channels},
              cuda::rows_to<T>(op.dx, size.channels), cuda::rows_of<T>(op.x, size.channels),
              cuda::rows_of<T>(op.dy, size.channels));
  });
}

template <>
void CudaBackend::compute(Stream& stream, const BatchNormBackwardWeight& op) {
  const int channels = static_cast<int>(op.d_weight_C.size());
  cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(channels),
               cuda::add_reductions, cuda::data_of<double>(op.reductions), channels,
               cuda::data_of<float>(op.d_weight_C), cuda::data_of<float>(op.d_bias_C));
}

template <>
void CudaBackend::compute(Stream& stream, const BatchNormCommit& op) {
  auto& own = static_cast<CudaStream&>(stream);
  const int channels = static_cast<int>(op.running_mean_C.size());
  auto* const statistics = own.scratch().take<double>(op.statistics.size());
  own.copy_in(statistics, op.statistics.data(), op.statistics.size_bytes());
  cuda::launch(own.handle(), cuda::grid_over(channels), cuda::move_towards,
               cuda::StepStatistics{statistics, channels, 1 / (op.n - 1)}, op.momentum,
               cuda::data_of<float>(op.running_mean_C),
               cuda::data_of<float>(op.running_variance_C));
}

}  // namespace penstock::layers
