#include "layers/ops/shaw_positions.h"

#include <algorithm>

#include "layers/cpu/column_sums.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/for_real.h"

namespace penstock::layers {

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
