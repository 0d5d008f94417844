#include "layers/ops/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/for_real.h"

namespace penstock::layers {
namespace {

// A matrix [rows · groups, C] without gaps; each channel is a column.
struct Columns {
  Columns(const Tensor& x, const Tensor& per_channel)
      : channels(per_channel.size()), rows(channels == 0 ? 0 : x.size() / channels) {}
  std::int64_t channels, rows;
};

// Per channel: y = (x - shift) · scale + bias.
template <class T>
struct Affine {
  explicit Affine(std::int64_t channels) : shift(channels), scale(channels), bias(channels) {}
  std::vector<T> shift, scale, bias;
};

template <class T>
void apply(const Affine<T>& affine, Columns size, const T* __restrict x, T* __restrict y) {
  const T* __restrict shift = affine.shift.data();
  const T* __restrict scale = affine.scale.data();
  const T* __restrict bias = affine.bias.data();
  for (std::int64_t row = 0; row < size.rows; ++row, x += size.channels, y += size.channels)
    for (std::int64_t c = 0; c < size.channels; ++c) y[c] = (x[c] - shift[c]) * scale[c] + bias[c];
}

// Means, then Σ (x - mean)², from one pass over x. The numbers are taken relative to the first row,
// so that a mean far from zero costs no digits.
template <class T>
void measure(Columns size, const T* __restrict x, double* __restrict mean,
             double* __restrict squares) {
  const std::int64_t C = size.channels;
  std::fill_n(mean, C, 0.0);
  std::fill_n(squares, C, 0.0);
  if (size.rows == 0) return;
  const T* __restrict first = x;
  for (std::int64_t row = 0; row < size.rows; ++row)
    for (std::int64_t c = 0; c < C; ++c) {
      const double value = x[row * C + c] - first[c];
      mean[c] += value;
      squares[c] += value * value;
    }
  const auto n = static_cast<double>(size.rows);
  for (std::int64_t c = 0; c < C; ++c) {
    const double ahead = mean[c] / n;
    squares[c] = std::max(0.0, squares[c] - ahead * mean[c]);
    mean[c] = first[c] + ahead;
  }
}

template <class T>
void forward(const BatchNormForward& op) {
  const Columns size(op.x, op.weight_C);
  const std::int64_t C = size.channels;
  double* mean = op.sums.data() + 1;
  double* squares = mean + C;
  measure(size, op.x.as<T>(), mean, squares);
  op.sums[0] = static_cast<double>(size.rows);

  double* statistics = op.statistics.as<double>();
  Affine<T> affine(C);
  for (std::int64_t c = 0; c < C; ++c) {
    const double variance = size.rows == 0 ? 0 : squares[c] / op.sums[0];
    statistics[c] = mean[c];
    statistics[C + c] = 1 / std::sqrt(variance + op.epsilon);
    affine.shift[c] = static_cast<T>(mean[c]);
    affine.scale[c] = static_cast<T>(statistics[C + c] * op.weight_C.as<T>()[c]);
    affine.bias[c] = op.bias_C.as<T>()[c];
  }
  apply(affine, size, op.x.as<T>(), op.y.as<T>());
}

template <class T, class S>
void infer(const BatchNormInference& op) {
  const Columns size(op.x, op.weight_C);
  Affine<T> affine(size.channels);
  for (std::int64_t c = 0; c < size.channels; ++c) {
    affine.shift[c] = static_cast<T>(op.mean_C.as<S>()[c]);
    affine.scale[c] =
        static_cast<T>(op.weight_C.as<T>()[c] / std::sqrt(op.variance_C.as<S>()[c] + op.epsilon));
    affine.bias[c] = op.bias_C.as<T>()[c];
  }
  apply(affine, size, op.x.as<T>(), op.y.as<T>());
}

template <class T>
void reduce(Columns size, const T* __restrict x, const T* __restrict dy,
            const double* __restrict mean, double* __restrict sum_dy, double* __restrict sum_dy_x) {
  const std::int64_t C = size.channels;
  std::fill_n(sum_dy, C, 0.0);
  std::fill_n(sum_dy_x, C, 0.0);
  for (std::int64_t row = 0; row < size.rows; ++row, x += C, dy += C)
    for (std::int64_t c = 0; c < C; ++c) {
      sum_dy[c] += dy[c];
      sum_dy_x[c] += dy[c] * (x[c] - mean[c]);
    }
}

template <class T>
void backward_input(const BatchNormBackwardInput& op) {
  const Columns size(op.x, op.weight_C);
  const std::int64_t C = size.channels;
  const double* mean = op.statistics.as<double>();
  const double* inverse = mean + C;
  double* sum_dy = op.reductions.as<double>();
  double* sum_dy_xhat = sum_dy + C;
  reduce(size, op.x.as<T>(), op.dy.as<T>(), mean, sum_dy, sum_dy_xhat);
  for (std::int64_t c = 0; c < C; ++c) sum_dy_xhat[c] *= inverse[c];
  if (op.dx.data == nullptr) return;

  // dx = (dy - Σ dy / n) · scale - (x - mean) · slope
  const auto n = static_cast<double>(size.rows);
  Affine<T> affine(C);
  std::vector<T> means(C), slopes(C);
  for (std::int64_t c = 0; c < C; ++c) {
    const double scale = op.weight_C.as<T>()[c] * inverse[c];
    affine.shift[c] = static_cast<T>(sum_dy[c] / n);
    affine.scale[c] = static_cast<T>(scale);
    means[c] = static_cast<T>(mean[c]);
    slopes[c] = static_cast<T>(scale * inverse[c] * sum_dy_xhat[c] / n);
  }
  const T* __restrict x = op.x.as<T>();
  const T* __restrict dy = op.dy.as<T>();
  const T* __restrict shift = affine.shift.data();
  const T* __restrict scale = affine.scale.data();
  const T* __restrict centre = means.data();
  const T* __restrict slope = slopes.data();
  T* __restrict dx = op.dx.as<T>();
  for (std::int64_t row = 0; row < size.rows; ++row, x += C, dy += C, dx += C)
    for (std::int64_t c = 0; c < C; ++c)
      dx[c] = (dy[c] - shift[c]) * scale[c] - (x[c] - centre[c]) * slope[c];
}

template <class T>
void backward_weight(const BatchNormBackwardWeight& op) {
  const std::int64_t C = op.d_weight_C.size();
  const double* sums = op.reductions.as<double>();
  for (std::int64_t c = 0; c < C; ++c) {
    op.d_bias_C.as<T>()[c] += static_cast<T>(sums[c]);
    op.d_weight_C.as<T>()[c] += static_cast<T>(sums[C + c]);
  }
}

}  // namespace

template <>
void CpuBackend::compute(Stream&, const BatchNormForward& op) {
  for_real(op.x.dtype, "BatchNormForward", [&]<class T>(T) { forward<T>(op); });
}

template <>
void CpuBackend::compute(Stream&, const BatchNormInference& op) {
  for_real(op.x.dtype, "BatchNormInference", [&]<class T>(T) {
    for_real(op.mean_C.dtype, "BatchNormInference", [&]<class S>(S) { infer<T, S>(op); });
  });
}

template <>
void CpuBackend::compute(Stream&, const BatchNormBackwardInput& op) {
  for_real(op.x.dtype, "BatchNormBackwardInput", [&]<class T>(T) { backward_input<T>(op); });
}

template <>
void CpuBackend::compute(Stream&, const BatchNormBackwardWeight& op) {
  for_real(op.d_weight_C.dtype, "BatchNormBackwardWeight",
           [&]<class T>(T) { backward_weight<T>(op); });
}

}  // namespace penstock::layers
