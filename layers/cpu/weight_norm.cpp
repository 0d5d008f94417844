#include "layers/ops/weight_norm.h"

#include <cmath>
#include <vector>

#include "layers/cpu/cpu_backend.h"

// Weight normalisation with a length for each tap; layers/ops/weight_norm.h has the formulas. The
// weight is a matrix with the taps as columns, so all sums are over columns.

namespace penstock::layers {
namespace {

/// Returns Σ a · b of each column of matrices with K columns, in FP64.
template <class A, class B>
std::vector<double> products_of_columns(const A* a, const B* b, std::int64_t count,
                                        std::int64_t kernel) {
  std::vector<double> sums(static_cast<std::size_t>(kernel));
  for (std::int64_t first = 0; first < count; first += kernel)
    for (std::int64_t k = 0; k < kernel; ++k)
      sums[static_cast<std::size_t>(k)] +=
          static_cast<double>(a[first + k]) * static_cast<double>(b[first + k]);
  return sums;
}

template <class T>
void normalise_taps(const WeightNormForward& op) {
  const std::int64_t count = op.v_OCK.size(), kernel = op.g_K.size();
  const T *v = op.v_OCK.as<T>(), *g = op.g_K.as<T>();
  T* const w = op.w_OCK.as<T>();
  std::vector<double> factors = products_of_columns(v, v, count, kernel);
  for (std::int64_t k = 0; k < kernel; ++k) {
    double& factor = factors[static_cast<std::size_t>(k)];
    factor = static_cast<double>(g[k]) / std::sqrt(factor);
  }
  for (std::int64_t first = 0; first < count; first += kernel)
    for (std::int64_t k = 0; k < kernel; ++k)
      w[first + k] =
          static_cast<T>(static_cast<double>(v[first + k]) * factors[static_cast<std::size_t>(k)]);
}

// The part of dw along v changes the length alone. So it is all of dg, and dv leaves it out:
// `share` · v is that part.
template <class T>
void normalise_taps_backward(const WeightNormBackward& op) {
  const std::int64_t count = op.v_OCK.size(), kernel = op.g_K.size();
  const T *v = op.v_OCK.as<T>(), *g = op.g_K.as<T>(), *dw = op.dw_OCK.as<T>();
  T *const dv = op.dv_OCK.as<T>(), *const dg = op.dg_K.as<T>();
  const std::vector<double> squares = products_of_columns(v, v, count, kernel);
  const std::vector<double> along = products_of_columns(dw, v, count, kernel);
  for (std::int64_t k = 0; k < kernel; ++k) {
    const auto tap = static_cast<std::size_t>(k);
    const double factor = static_cast<double>(g[k]) / std::sqrt(squares[tap]);
    const double share = along[tap] / squares[tap];
    dg[k] += static_cast<T>(along[tap] / std::sqrt(squares[tap]));
    for (std::int64_t i = k; i < count; i += kernel)
      dv[i] +=
          static_cast<T>(factor * (static_cast<double>(dw[i]) - share * static_cast<double>(v[i])));
  }
}

}  // namespace

template <>
void CpuBackend::compute(Stream&, const WeightNormForward& op) {
  for_real(op.v_OCK.dtype, "WeightNormForward", [&]<class T>(T) { normalise_taps<T>(op); });
}

template <>
void CpuBackend::compute(Stream&, const WeightNormBackward& op) {
  for_real(op.v_OCK.dtype, "WeightNormBackward",
           [&]<class T>(T) { normalise_taps_backward<T>(op); });
}

}  // namespace penstock::layers
