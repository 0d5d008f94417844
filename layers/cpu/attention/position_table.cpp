#include "layers/ops/position_table.h"

#include <cmath>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/for_real.h"

namespace penstock::layers {

template <>
void CpuBackend::compute(Stream&, const PositionTable& op) {
  for_real(op.table_XC.dtype, "PositionTable", [&]<class T>(T) {
    const std::int64_t X = op.table_XC.shape[0], C = op.table_XC.shape[1];
    T* table = op.table_XC.as<T>();
    for (std::int64_t c = 0; c < C; c += 2) {
      const double rotate = std::pow(10000.0, -static_cast<double>(c) / static_cast<double>(C));
      // Row x is row x - 1 rotated by one step, a multiplication in FP64, which saves a sine and a
      // cosine for each number.
      const double cosine = std::cos(rotate),
                   sine = static_cast<double>(op.step) * std::sin(rotate);
      const double first = static_cast<double>(op.first) * rotate;
      double s = std::sin(first), k = std::cos(first);
      for (std::int64_t x = 0; x < X; ++x) {
        table[x * C + c] = static_cast<T>(s);
        if (c + 1 < C) table[x * C + c + 1] = static_cast<T>(k);
        const double next = s * cosine + k * sine;
        k = k * cosine - s * sine;
        s = next;
      }
    }
  });
}

}  // namespace penstock::layers
