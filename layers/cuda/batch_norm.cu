#include "layers/cuda/column_sums.h"
#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/numbers.h"
#include "layers/ops/batch_norm.h"

namespace penstock::layers {
namespace cuda {
namespace {

/// x as a matrix with one column for each channel.
struct BatchNormSize {
  explicit BatchNormSize(const Tensor& x, const Tensor& weight_C)
      : channels(static_cast<int>(weight_C.size())),
        rows(channels == 0 ? 0 : x.size() / channels),
        count(rows * channels) {}
  int channels;
  std::int64_t rows, count;
};

template <class T>
struct Values {
  static constexpr int kSums = 1;
  const T* x;
  __device__ void add(std::int64_t element, int, double* sums) const {
    sums[0] += to_float(x[element]);
  }
};

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

template <class T>
struct Reductions {
  static constexpr int kSums = 2;
  const T* x;
  const T* dy;
  const double* mean;
  const double* inverse_deviation;
  __device__ void add(std::int64_t element, int channel, double* sums) const {
    const double gradient = to_float(dy[element]);
    sums[0] += gradient;
    sums[1] += gradient * (to_float(x[element]) - mean[channel]) * inverse_deviation[channel];
  }
};

__global__ void invert_deviations(const double* squares, int channels, double n, double epsilon,
                                  double* inverse_deviation) {
  const std::int64_t c = grid_thread();
  if (c < channels) inverse_deviation[c] = 1 / sqrt(squares[c] / n + epsilon);
}

/// What is normalised, and where to; each row has all channels.
template <class T>
struct Matrices {
  const T* x;
  T* y;
  std::int64_t count;
  int channels;
};

/// The same of their gradients.
template <class T>
struct Gradients {
  const T* x;
  const T* dy;
  T* dx;
  std::int64_t count;
  int channels;
};

/// y = weight · x_hat + bias, of each channel.
struct Affine {
  const float* weight;
  const float* bias;
};

template <class T>
__global__ void normalise(Matrices<T> matrices, const double* mean, const double* inverse_deviation,
                          Affine affine) {
  const auto& [x, y, count, channels] = matrices;
  const auto& [weight, bias] = affine;
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const int c = static_cast<int>(i % channels);
  const auto distance = static_cast<float>(to_float(x[i]) - mean[c]);
  const float scale = static_cast<float>(inverse_deviation[c]) * weight[c];
  y[i] = from_float<T>(distance * scale + bias[c]);
}

template <class T, class State>
__global__ void normalise_by_state(Matrices<T> matrices, const State* mean, const State* variance,
                                   double epsilon, Affine affine) {
  const auto& [x, y, count, channels] = matrices;
  const auto& [weight, bias] = affine;
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const int c = static_cast<int>(i % channels);
  const double inverse_deviation = 1 / sqrt(static_cast<double>(variance[c]) + epsilon);
  const auto distance = static_cast<float>(to_float(x[i]) - static_cast<double>(mean[c]));
  const float scale = static_cast<float>(inverse_deviation) * weight[c];
  y[i] = from_float<T>(distance * scale + bias[c]);
}

template <class T>
__global__ void normalise_backward(Gradients<T> gradients, const double* statistics,
                                   const double* reductions, double n, const float* weight) {
  const auto& [x, dy, dx, count, channels] = gradients;
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const int c = static_cast<int>(i % channels);
  const double inverse_deviation = statistics[channels + c];
  const auto x_hat = static_cast<float>((to_float(x[i]) - statistics[c]) * inverse_deviation);
  const auto mean_dy = static_cast<float>(reductions[c] / n);
  const auto mean_dy_x_hat = static_cast<float>(reductions[channels + c] / n);
  const float scale = static_cast<float>(inverse_deviation) * weight[c];
  dx[i] = from_float<T>(scale * (to_float(dy[i]) - mean_dy - x_hat * mean_dy_x_hat));
}

__global__ void add_reductions(const double* reductions, int channels, float* d_weight,
                               float* d_bias) {
  const std::int64_t c = grid_thread();
  if (c >= channels) return;
  d_bias[c] += static_cast<float>(reductions[c]);
  d_weight[c] += static_cast<float>(reductions[channels + c]);
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const BatchNormForward& op) {
  const cuda::BatchNormSize size(op.x, op.weight_C);
  auto& own = static_cast<CudaStream&>(stream);
  op.sums[0] = static_cast<double>(size.rows);
  const double n = std::max<double>(1, op.sums[0]);
  const auto channels = static_cast<std::size_t>(size.channels);
  auto* mean = cuda::data_of<double>(op.statistics);
  auto* inverse_deviation = mean + channels;
  cuda::with_type_of(op.x, "BatchNormForward", [&]<class T>(T) {
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
    cuda::launch(own.handle(), cuda::grid_over(size.count), cuda::normalise<T>,
                 cuda::Matrices<T>{x, cuda::data_of<T>(op.y), size.count, size.channels}, mean,
                 inverse_deviation,
                 cuda::Affine{cuda::data_of<float>(op.weight_C), cuda::data_of<float>(op.bias_C)});
    own.copy_out(op.sums.data() + 1, mean, channels * sizeof(double));
    own.copy_out(op.sums.data() + 1 + channels, squares, channels * sizeof(double));
  });
}

template <>
void CudaBackend::compute(Stream& stream, const BatchNormInference& op) {
  const cuda::BatchNormSize size(op.x, op.weight_C);
  const auto normalise = [&]<class T, class State>(T, State) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(size.count),
                 cuda::normalise_by_state<T, State>,
                 cuda::Matrices<T>{cuda::data_of<T>(op.x), cuda::data_of<T>(op.y), size.count,
                                   size.channels},
                 cuda::data_of<State>(op.mean_C), cuda::data_of<State>(op.variance_C), op.epsilon,
                 cuda::Affine{cuda::data_of<float>(op.weight_C), cuda::data_of<float>(op.bias_C)});
  };
  cuda::with_type_of(op.x, "BatchNormInference", [&]<class T>(T type) {
    if (op.mean_C.dtype == DType::f64)
      normalise(type, double{});
    else
      normalise(type, float{});
  });
}

template <>
void CudaBackend::compute(Stream& stream, const BatchNormBackwardInput& op) {
  const cuda::BatchNormSize size(op.x, op.weight_C);
  auto& own = static_cast<CudaStream&>(stream);
  const double* statistics = cuda::data_of<double>(op.statistics);
  auto* reductions = cuda::data_of<double>(op.reductions);
  cuda::with_type_of(op.x, "BatchNormBackwardInput", [&]<class T>(T) {
    using Term = cuda::Reductions<T>;
    const T* x = cuda::data_of<T>(op.x);
    const T* dy = cuda::data_of<T>(op.dy);
    auto* const partial =
        own.scratch().take<double>(cuda::partial_count<Term>(size.rows, size.channels));
    cuda::sum_columns(
        own.handle(), Term{x, dy, statistics, statistics + size.channels},
        {.rows = size.rows, .columns = size.channels, .partial = partial, .sums = reductions});
    if (op.dx.data == nullptr) return;
    cuda::launch(own.handle(), cuda::grid_over(size.count), cuda::normalise_backward<T>,
                 cuda::Gradients<T>{x, dy, cuda::data_of<T>(op.dx), size.count, size.channels},
                 statistics, reductions, static_cast<double>(size.rows),
                 cuda::data_of<float>(op.weight_C));
  });
}

template <>
void CudaBackend::compute(Stream& stream, const BatchNormBackwardWeight& op) {
  const int channels = static_cast<int>(op.d_weight_C.size());
  cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(channels),
               cuda::add_reductions, cuda::data_of<double>(op.reductions), channels,
               cuda::data_of<float>(op.d_weight_C), cuda::data_of<float>(op.d_bias_C));
}

}  // namespace penstock::layers
