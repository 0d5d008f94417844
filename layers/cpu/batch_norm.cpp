#include "layers/ops/batch_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/gate_functions.h"

// Batch normalisation (Ioffe & Szegedy 2015); layers/ops/batch_norm.h has the formulas. The data is
// a matrix with a column for each channel, and all loops run over its channels innermost, so that
// the compiler vectorises them.
//
// Forward reads x twice: once for mean and Σ (x - mean)² of each channel, and once to map it. The
// map is affine, (x - mean) · (weight / deviation) + bias, and subtracts before it scales: x · a +
// b would cancel digits where the mean is large. Inference has the map alone. Backward reads x and
// dz twice as well: for the sums Σ dz and Σ dz · (x - mean), and then for dx, which is affine in dz
// and x.
//
// Sums are FP64 and in the order of the rows, so equal inputs give equal bits. Memory besides the
// operands is a few numbers for each channel.

namespace penstock::layers {
namespace {

// A matrix [rows · groups, C] without gaps; each channel is a column.
struct Columns {
  Columns(const Tensor& x, const Tensor& per_channel)
      : channels(per_channel.size()), rows(channels == 0 ? 0 : x.size() / channels) {}
  std::int64_t channels, rows;
};

// The map y = (x - shift) · scale + bias of each channel.
template <class T>
struct Affine {
  explicit Affine(std::int64_t channels) : shift(channels), scale(channels), bias(channels) {}
  std::vector<T> shift, scale, bias;

  void apply(const T* __restrict x, T* __restrict y) const {
    const T* __restrict from = shift.data();
    const T* __restrict by = scale.data();
    const T* __restrict then = bias.data();
    const auto channels = static_cast<std::int64_t>(shift.size());
    for (std::int64_t c = 0; c < channels; ++c) y[c] = (x[c] - from[c]) * by[c] + then[c];
  }
};

// Returns the map by which training normalises.
template <class T>
Affine<T> affine_of(const Tensor& statistics, const Tensor& weight_C, const Tensor& bias_C) {
  const std::int64_t C = weight_C.size();
  const double* mean = statistics.as<double>();
  Affine<T> affine(C);
  for (std::int64_t c = 0; c < C; ++c) {
    affine.shift[c] = static_cast<T>(mean[c]);
    affine.scale[c] = static_cast<T>(mean[C + c] * weight_C.as<T>()[c]);
    affine.bias[c] = bias_C.as<T>()[c];
  }
  return affine;
}

template <class T>
void apply(const Affine<T>& affine, Columns size, bool silu, const T* x, T* y) {
  for (std::int64_t row = 0; row < size.rows; ++row, x += size.channels, y += size.channels) {
    affine.apply(x, y);
    if (!silu) continue;
    for_each_vector<T>(size.channels, [&](std::int64_t c, auto lanes) {
      store<T>(y + c, Silu<T>::value(load<T>(y + c, lanes)), lanes);
    });
  }
}

// Computes the gradient of z in one row, for which it recomputes z. `dz` must not be dy.
template <class T>
void silu_gradient(const Affine<T>& affine, const T* x, const T* dy, T* dz) {
  affine.apply(x, dz);
  const auto channels = static_cast<std::int64_t>(affine.shift.size());
  for_each_vector<T>(channels, [&](std::int64_t c, auto lanes) {
    store<T>(dz + c, load<T>(dy + c, lanes) * Silu<T>::slope(load<T>(dz + c, lanes)), lanes);
  });
}

// Computes the means and Σ (x - mean)² in one pass over x, in FP64. Numbers are taken relative to
// the first row, so that a mean far from zero costs no digits.
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
  double* mean = op.statistics.as<double>();
  double* inverse = mean + C;  // squares at first
  measure(size, op.x.as<T>(), mean, inverse);
  const auto n = static_cast<double>(size.rows);
  if (!op.sums.empty()) {
    op.sums[0] = n;
    std::copy_n(mean, 2 * C, op.sums.data() + 1);
  }
  for (std::int64_t c = 0; c < C; ++c)
    inverse[c] = 1 / std::sqrt((size.rows == 0 ? 0 : inverse[c] / n) + op.epsilon);
  apply(affine_of<T>(op.statistics, op.weight_C, op.bias_C), size, op.silu, op.x.as<T>(),
        op.y.as<T>());
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
  apply(affine, size, op.silu, op.x.as<T>(), op.y.as<T>());
}

// Adds one row to the sums.
template <class T>
void reduce(std::int64_t channels, const T* __restrict x, const T* __restrict dz,
            const double* __restrict mean, double* __restrict reductions) {
  double* __restrict sum_dz_x = reductions + channels;
  for (std::int64_t c = 0; c < channels; ++c) {
    reductions[c] += dz[c];
    sum_dz_x[c] += dz[c] * (x[c] - mean[c]);
  }
}

// Computes Σ dz and Σ dz · (x - mean). With SiLU, dz is stored in dx if that is wanted, where
// backward_input() reads it.
template <class T>
void reduce(const BatchNormBackwardInput& op, Columns size) {
  const std::int64_t C = size.channels;
  double* reductions = op.reductions.as<double>();
  std::fill_n(reductions, 2 * C, 0.0);
  const T* x = op.x.as<T>();
  const T* dy = op.dy.as<T>();
  std::vector<T> unwanted(op.dx.data == nullptr ? static_cast<std::size_t>(C) : 0);
  T* dx = op.dx.data == nullptr ? unwanted.data() : op.dx.as<T>();
  const Affine<T> affine =
      op.silu ? affine_of<T>(op.statistics, op.weight_C, op.bias_C) : Affine<T>(0);
  for (std::int64_t row = 0; row < size.rows; ++row, x += C, dy += C) {
    if (op.silu) silu_gradient(affine, x, dy, dx);
    reduce(C, x, op.silu ? dx : dy, op.statistics.as<double>(), reductions);
    if (unwanted.empty()) dx += C;
  }
}

template <class T>
void backward_input(const BatchNormBackwardInput& op) {
  const Columns size(op.x, op.weight_C);
  const std::int64_t C = size.channels;
  const double* mean = op.statistics.as<double>();
  const double* inverse = mean + C;
  double* sum_dz = op.reductions.as<double>();
  double* sum_dz_xhat = sum_dz + C;
  reduce<T>(op, size);
  for (std::int64_t c = 0; c < C; ++c) sum_dz_xhat[c] *= inverse[c];
  if (op.dx.data == nullptr) return;

  // dx = (dz - Σ dz / n) · scale - (x - mean) · slope
  const auto n = static_cast<double>(size.rows);
  Affine<T> affine(C);
  std::vector<T> means(C), slopes(C);
  for (std::int64_t c = 0; c < C; ++c) {
    const double scale = op.weight_C.as<T>()[c] * inverse[c];
    affine.shift[c] = static_cast<T>(sum_dz[c] / n);
    affine.scale[c] = static_cast<T>(scale);
    means[c] = static_cast<T>(mean[c]);
    slopes[c] = static_cast<T>(scale * inverse[c] * sum_dz_xhat[c] / n);
  }
  const T* __restrict x = op.x.as<T>();
  const T* dz = op.silu ? op.dx.as<T>() : op.dy.as<T>();
  const T* __restrict shift = affine.shift.data();
  const T* __restrict scale = affine.scale.data();
  const T* __restrict centre = means.data();
  const T* __restrict slope = slopes.data();
  T* dx = op.dx.as<T>();
  for (std::int64_t row = 0; row < size.rows; ++row, x += C, dz += C, dx += C)
#pragma GCC ivdep  // dz may be dx, never a part of it
    for (std::int64_t c = 0; c < C; ++c)
      dx[c] = (dz[c] - shift[c]) * scale[c] - (x[c] - centre[c]) * slope[c];
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

template <class T>
void move_towards(const Tensor& state_C, std::span<const double> values_C, double momentum,
                  double factor) {
  T* state = state_C.as<T>();
  for (std::size_t c = 0; c < values_C.size(); ++c)
    state[c] = static_cast<T>((1 - momentum) * state[c] + momentum * values_C[c] * factor);
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

template <>
void CpuBackend::compute(Stream&, const BatchNormCommit& op) {
  for_real(op.running_mean_C.dtype, "BatchNormCommit", [&]<class T>(T) {
    const std::size_t C = op.statistics.size() / 2;
    move_towards<T>(op.running_mean_C, op.statistics.first(C), op.momentum, 1);
    move_towards<T>(op.running_variance_C, op.statistics.last(C), op.momentum, 1 / (op.n - 1));
  });
}

}  // namespace penstock::layers
