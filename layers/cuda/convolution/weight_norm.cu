#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/norms/column_sums.h"
#include "layers/ops/weight_norm.h"

// Weight normalisation with a length for each tap (Salimans & Kingma 2016);
// layers/ops/weight_norm.h has the formulas. v [out, in, kernel] is a matrix whose columns are the
// taps, so that norms are column sums in FP64 in a fixed order (column_sums.h). Elementwise passes
// follow.

namespace penstock::layers {
namespace cuda {
namespace {

/// Σ v² of each tap.
template <class T>
struct SquaredTaps {
  static constexpr int kSums = 1;
  const T* v;
  __device__ void add(std::int64_t element, int, double* sums) const {
    const double value = to_float(v[element]);
    sums[0] += value * value;
  }
};

/// Σ v² and Σ dw · v of each tap.
template <class T>
struct TapGradients {
  static constexpr int kSums = 2;
  const T* v;
  const float* dw;
  __device__ void add(std::int64_t element, int, double* sums) const {
    const double value = to_float(v[element]);
    sums[0] += value * value;
    sums[1] += value * static_cast<double>(dw[element]);
  }
};

/// Computes w = g · v / ‖v‖, one thread for each number.
template <class T>
__global__ void scale_taps(const T* v, const float* g, const double* squares, int kernel,
                           std::int64_t count, T* w) {
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const double factor = g[i % kernel] / sqrt(squares[i % kernel]);
  w[i] = from_float<T>(static_cast<float>(to_float(v[i]) * factor));
}

/// The sums of TapGradients, and the number of taps.
struct TapSums {
  const double* squares;
  const double* along;
  int kernel;
};

/// Adds dv = g / ‖v‖ · (dw - v · Σ dw v / ‖v‖²): the part of dw along v changes no direction.
template <class T>
__global__ void add_direction_gradient(const T* v, const float* g, const float* dw, TapSums sums,
                                       std::int64_t count, float* dv) {
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const int k = static_cast<int>(i % sums.kernel);
  const double factor = g[k] / sqrt(sums.squares[k]), share = sums.along[k] / sums.squares[k];
  dv[i] += static_cast<float>(factor * (dw[i] - share * to_float(v[i])));
}

/// Adds dg = Σ dw v / ‖v‖.
__global__ void add_length_gradient(TapSums sums, float* dg) {
  const std::int64_t k = grid_thread();
  if (k < sums.kernel) dg[k] += static_cast<float>(sums.along[k] / sqrt(sums.squares[k]));
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const WeightNormForward& op) {
  auto& own = static_cast<CudaStream&>(stream);
  const std::int64_t count = op.v_OCK.size();
  const int kernel = static_cast<int>(op.g_K.size());
  cuda::with_type_of(op.v_OCK, "WeightNormForward", [&]<class T>(T) {
    using Term = cuda::SquaredTaps<T>;
    const T* v = cuda::data_of<T>(op.v_OCK);
    Scratch scratch = own.scratch();
    auto* const squares = scratch.take<double>(kernel);
    auto* const partial = scratch.take<double>(cuda::partial_count<Term>(count / kernel, kernel));
    cuda::sum_columns(
        own.handle(), Term{v},
        {.rows = count / kernel, .columns = kernel, .partial = partial, .sums = squares});
    cuda::launch(own.handle(), cuda::grid_over(count), cuda::scale_taps<T>, v,
                 cuda::data_of<float>(op.g_K), squares, kernel, count, cuda::data_of<T>(op.w_OCK));
  });
}

template <>
void CudaBackend::compute(Stream& stream, const WeightNormBackward& op) {
  auto& own = static_cast<CudaStream&>(stream);
  const std::int64_t count = op.v_OCK.size();
  const int kernel = static_cast<int>(op.g_K.size());
  cuda::with_type_of(op.v_OCK, "WeightNormBackward", [&]<class T>(T) {
    using Term = cuda::TapGradients<T>;
    const T* v = cuda::data_of<T>(op.v_OCK);
    const float *g = cuda::data_of<float>(op.g_K), *dw = cuda::data_of<float>(op.dw_OCK);
    Scratch scratch = own.scratch();
    auto* const sums = scratch.take<double>(2 * kernel);
    auto* const partial = scratch.take<double>(cuda::partial_count<Term>(count / kernel, kernel));
    cuda::sum_columns(
        own.handle(), Term{v, dw},
        {.rows = count / kernel, .columns = kernel, .partial = partial, .sums = sums});
    const cuda::TapSums of{sums, sums + kernel, kernel};
    cuda::launch(own.handle(), cuda::grid_over(count), cuda::add_direction_gradient<T>, v, g, dw,
                 of, count, cuda::data_of<float>(op.dv_OCK));
    cuda::launch(own.handle(), cuda::grid_over(kernel), cuda::add_length_gradient, of,
                 cuda::data_of<float>(op.dg_K));
  });
}

}  // namespace penstock::layers
