#include "layers/ops/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "layers/cpu/cpu_backend.h"

// LayerNorm (Ba et al. 2016) and RMSNorm (Zhang & Sennrich 2019); layers/ops/layer_norm.h has the
// formulas. Each frame is a row that is normalised by itself. Forward passes over it three times
// while it lies in cache: for the mean, for the variance around it, and for y. Backward needs two
// means of the row before dx, mean(g) and mean(g · x_hat), with x_hat recomputed from x and the
// saved statistics.
//
// A row's sums have the data's type: a row has some hundred or thousand numbers, added in 16 lanes.
// The parameters' gradients are sums over all frames instead, so they are FP64. backward_input
// makes them while it has x and dy at hand, and backward_weight only adds them to the gradients.

namespace penstock::layers {
namespace {

// Returns Σ term(i) for i < count, in a fixed number of lanes. So the order is always the same, and
// the compiler can vectorise it.
template <class T, class Term>
T sum_over(std::int64_t count, const Term& term) {
  constexpr std::int64_t lanes = 16;
  T sums[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (std::int64_t lane = 0; lane < lanes; ++lane) sums[lane] += term(i + lane);
  for (std::int64_t lane = 0; i < count; ++i, ++lane) sums[lane] += term(i);
  T total = 0;
  for (T sum : sums) total += sum;
  return total;
}

template <class T>
T* data_or_null(const Tensor& tensor) {
  return tensor.data == nullptr ? nullptr : tensor.as<T>();
}

template <class T>
struct RowStatistics {
  T mean, inverse_deviation;
};

// Returns a row's mean, and 1 / deviation. The variance has a pass of its own, to avoid the
// cancellation of E[x²] - E[x]².
template <class T>
RowStatistics<T> statistics_of(const T* x, std::int64_t channels, const LayerNormForward& op) {
  const auto n = static_cast<T>(channels);
  const T mean = op.centred ? sum_over<T>(channels, [&](std::int64_t c) { return x[c]; }) / n : 0;
  const T squares = sum_over<T>(channels, [&](std::int64_t c) {
    const T distance = x[c] - mean;
    return distance * distance;
  });
  return {mean, 1 / std::sqrt(squares / n + static_cast<T>(op.epsilon))};
}

template <class T>
void normalise(RowStatistics<T> row, std::int64_t channels, const T* __restrict weight,
               const T* __restrict x, T* __restrict y) {
  for (std::int64_t c = 0; c < channels; ++c)
    y[c] = (x[c] - row.mean) * row.inverse_deviation * weight[c];
}

template <class T>
void forward(const LayerNormForward& op) {
  const std::int64_t rows = op.x_FC.shape[0], C = op.x_FC.shape[1];
  const T* x = op.x_FC.as<T>();
  const T* bias = data_or_null<T>(op.bias_C);
  T* y = op.y_FC.as<T>();
  T* kept = data_or_null<T>(op.statistics_F2);
  for (std::int64_t row = 0; row < rows; ++row, x += C, y += C) {
    const RowStatistics<T> statistics = statistics_of(x, C, op);
    normalise(statistics, C, op.weight_C.as<T>(), x, y);
    if (bias != nullptr)
      for (std::int64_t c = 0; c < C; ++c) y[c] += bias[c];
    if (kept == nullptr) continue;
    kept[2 * row] = statistics.mean;
    kept[2 * row + 1] = statistics.inverse_deviation;
  }
}

template <class T>
struct GradientRow {
  const T *x, *dy;
  T* dx;
};

// Computes one row of dx by LayerNormBackwardInput's formula.
template <class T>
void backward_row(RowStatistics<T> row, bool centred, std::int64_t channels,
                  const T* __restrict weight, const GradientRow<T>& of) {
  const T* __restrict x = of.x;
  const T* __restrict dy = of.dy;
  T* __restrict dx = of.dx;
  const auto n = static_cast<T>(channels);
  const auto x_hat = [&](std::int64_t c) { return (x[c] - row.mean) * row.inverse_deviation; };
  const T mean_g =
      centred ? sum_over<T>(channels, [&](std::int64_t c) { return dy[c] * weight[c]; }) / n : 0;
  const T mean_g_x_hat =
      sum_over<T>(channels, [&](std::int64_t c) { return dy[c] * weight[c] * x_hat(c); }) / n;
  for (std::int64_t c = 0; c < channels; ++c)
    dx[c] = (dy[c] * weight[c] - mean_g - x_hat(c) * mean_g_x_hat) * row.inverse_deviation;
}

// Adds one row to Σ dy and Σ dy · x_hat of each channel, in FP64.
template <class T>
void add_reductions(RowStatistics<T> row, std::int64_t channels, const T* __restrict x,
                    const T* __restrict dy, double* __restrict of_dy,
                    double* __restrict of_dy_x_hat) {
  for (std::int64_t c = 0; c < channels; ++c) {
    of_dy[c] += dy[c];
    of_dy_x_hat[c] += dy[c] * ((x[c] - row.mean) * row.inverse_deviation);
  }
}

template <class T>
void backward_input(const LayerNormBackwardInput& op) {
  const std::int64_t rows = op.x_FC.shape[0], C = op.x_FC.shape[1];
  const T* x = op.x_FC.as<T>();
  const T* dy = op.dy_FC.as<T>();
  const T* kept = op.statistics_F2.as<T>();
  double* reductions = op.reductions_2C.as<double>();
  std::fill_n(reductions, 2 * C, 0.0);
  for (std::int64_t row = 0; row < rows; ++row, x += C, dy += C) {
    const RowStatistics<T> statistics{kept[2 * row], kept[2 * row + 1]};
    add_reductions(statistics, C, x, dy, reductions, reductions + C);
    if (op.dx_FC.data != nullptr)
      backward_row(statistics, op.centred, C, op.weight_C.as<T>(),
                   GradientRow<T>{x, dy, op.dx_FC.as<T>() + row * C});
  }
}

template <class T>
void backward_weight(const LayerNormBackwardWeight& op) {
  const std::int64_t C = op.d_weight_C.size();
  const double* reductions = op.reductions_2C.as<double>();
  for (std::int64_t c = 0; c < C; ++c) {
    op.d_weight_C.as<T>()[c] += static_cast<T>(reductions[C + c]);
    if (op.d_bias_C.data != nullptr) op.d_bias_C.as<T>()[c] += static_cast<T>(reductions[c]);
  }
}

}  // namespace

template <>
void CpuBackend::compute(Stream&, const LayerNormForward& op) {
  for_real(op.x_FC.dtype, "LayerNormForward", [&]<class T>(T) { forward<T>(op); });
}

template <>
void CpuBackend::compute(Stream&, const LayerNormBackwardInput& op) {
  for_real(op.x_FC.dtype, "LayerNormBackwardInput", [&]<class T>(T) { backward_input<T>(op); });
}

template <>
void CpuBackend::compute(Stream&, const LayerNormBackwardWeight& op) {
  for_real(op.d_weight_C.dtype, "LayerNormBackwardWeight",
           [&]<class T>(T) { backward_weight<T>(op); });
}

}  // namespace penstock::layers
