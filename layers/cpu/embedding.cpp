#include "layers/ops/embedding.h"

#include <algorithm>

#include "layers/cpu/cpu_backend.h"

namespace penstock::layers {

template <>
void CpuBackend::compute(Stream&, const EmbeddingForward& op) {
  const std::int64_t positions = op.ids_P.size(), channels = op.table_VE.shape.at(1);
  const auto* const ids = op.ids_P.as<std::int32_t>();
  for_real(op.table_VE.dtype, "EmbeddingForward", [&]<class T>(T) {
    const T* const table = op.table_VE.as<T>();
    T* y = op.y_PE.as<T>();
    for (std::int64_t p = 0; p < positions; ++p, y += channels)
      if (ids[p] < 0)
        std::fill_n(y, channels, T{0});
      else
        std::copy_n(table + ids[p] * channels, channels, y);
  });
}

template <>
void CpuBackend::compute(Stream&, const EmbeddingBackwardWeight& op) {
  const std::int64_t positions = op.ids_P.size(), channels = op.dtable_VE.shape.at(1);
  const auto* const ids = op.ids_P.as<std::int32_t>();
  for_real(op.dtable_VE.dtype, "EmbeddingBackwardWeight", [&]<class T>(T) {
    const T* dy = op.dy_PE.as<T>();
    for (std::int64_t p = 0; p < positions; ++p, dy += channels) {
      if (ids[p] < 0) continue;
      T* const sum = op.dtable_VE.as<T>() + ids[p] * channels;
      for (std::int64_t c = 0; c < channels; ++c) sum[c] += dy[c];
    }
  });
}

}  // namespace penstock::layers
