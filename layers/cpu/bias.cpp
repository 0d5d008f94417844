#include "layers/cpu/column_sums.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/ops/linear.h"

namespace penstock::layers {
namespace {

/// Sets y = x + bias. A row that holds several groups of channels counts as several rows.
template <class T>
void add_to_rows(const T* bias, std::int64_t channels, std::int64_t count, const T* x, T* y) {
  for (std::int64_t first = 0; first < count; first += channels)
    for (std::int64_t c = 0; c < channels; ++c) y[first + c] = x[first + c] + bias[c];
}

}  // namespace

template <>
void CpuBackend::compute(Stream&, const AddBias& op) {
  for_real(op.x.dtype, "AddBias", [&]<class T>(T) {
    add_to_rows(op.bias_C.as<T>(), op.bias_C.size(), op.x.size(), op.x.as<T>(), op.y.as<T>());
  });
}

template <>
void CpuBackend::compute(Stream&, const BiasBackwardWeight& op) {
  for_real(op.dy.dtype, "BiasBackwardWeight", [&]<class T>(T) {
    const std::int64_t C = op.d_bias_C.size();
    add_column_sums(op.dy.as<T>(), op.dy.size() / C, C, C, op.d_bias_C.as<T>());
  });
}

}  // namespace penstock::layers
