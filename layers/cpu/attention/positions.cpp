#include "layers/ops/positions.h"

#include <algorithm>
#include <cmath>

#include "layers/cpu/column_sums.h"
#include "layers/cpu/cpu_backend.h"

namespace penstock::layers {

template <>
void CpuBackend::compute(Stream&, const PositionTable& op) {
  for_real(op.table_XC.dtype, "PositionTable", [&]<class T>(T) {
    const std::int64_t X = op.table_XC.shape[0], C = op.table_XC.shape[1];
    T* table = op.table_XC.as<T>();
    for (std::int64_t pair = 0; pair < (C + 1) / 2; ++pair) {
      const SinusoidPair at = sinusoid_pair(pair, C, op.order);
      const double rotate = std::pow(10000.0, at.exponent);
      // Row x is row x - 1 rotated by one step, a multiplication in FP64, which saves a sine and a
      // cosine for each number.
      const double cosine = std::cos(rotate),
                   sine = static_cast<double>(op.step) * std::sin(rotate);
      const double first = static_cast<double>(op.first) * rotate;
      double s = std::sin(first), k = std::cos(first);
      for (std::int64_t x = 0; x < X; ++x) {
        table[x * C + at.sine] = static_cast<T>(s);
        if (at.cosine < C) table[x * C + at.cosine] = static_cast<T>(k);
        const double next = s * cosine + k * sine;
        k = k * cosine - s * sine;
        s = next;
      }
    }
  });
}

// Heads are adjacent in a row of r and share the vector of a distance. So the rows of a distance
// are one run of copies of it.
template <>
void CpuBackend::compute(Stream&, const ShawPositionsForward& op) {
  for_real(op.r_XC.dtype, "ShawPositionsForward", [&]<class T>(T) {
    const std::int64_t K = op.weight_KD.shape[0], D = op.weight_KD.shape[1];
    const std::int64_t X = op.r_XC.shape[0], C = op.r_XC.shape[1];
    for (std::int64_t k = 0; k < K; ++k) {
      const ShawRows rows = shaw_rows(k, K, op.left, X);
      for (std::int64_t at = rows.begin * C; at < rows.end * C; at += D)
        std::copy_n(op.weight_KD.as<T>() + k * D, D, op.r_XC.as<T>() + at);
    }
  });
}

// The gradients of these copies are as many rows of D numbers, which are added up.
template <>
void CpuBackend::compute(Stream&, const ShawPositionsBackwardWeight& op) {
  for_real(op.dr_XC.dtype, "ShawPositionsBackwardWeight", [&]<class T>(T) {
    const std::int64_t K = op.d_weight_KD.shape[0], D = op.d_weight_KD.shape[1];
    const std::int64_t X = op.dr_XC.shape[0], C = op.dr_XC.shape[1];
    for (std::int64_t k = 0; k < K; ++k) {
      const ShawRows rows = shaw_rows(k, K, op.left, X);
      add_column_sums(op.dr_XC.as<T>() + rows.begin * C, (rows.end - rows.begin) * (C / D), D, D,
                      op.d_weight_KD.as<T>() + k * D);
    }
  });
}

}  // namespace penstock::layers
