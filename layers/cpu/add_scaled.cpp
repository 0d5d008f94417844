#include "layers/ops/add_scaled.h"

#include <algorithm>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/for_real.h"

namespace penstock::layers {
namespace {

// Sets y = x + scale · f, without reading f if the scale is 0. `x` may be null or y, and `f` may be
// y.
template <class T>
void add(const T* x, const T* f, T* y, std::int64_t count, T scale) {
  if (x == nullptr && scale == 0)
    std::fill_n(y, count, T{0});
  else if (x == nullptr)
    for (std::int64_t i = 0; i < count; ++i) y[i] = scale * f[i];
  else if (scale == 0)
    std::copy_n(x, x == y ? 0 : count, y);
  else
    for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] + scale * f[i];
}

}  // namespace

template <>
void CpuBackend::compute(Stream&, const AddScaled& op) {
  for_real(op.y.dtype, "AddScaled", [&]<class T>(T) {
    const T* x = op.x.data == nullptr ? nullptr : op.x.as<T>();
    const T* f = op.f.as<T>();
    T* y = op.y.as<T>();
    if (op.factors.empty()) return add(x, f, y, op.y.size(), static_cast<T>(op.scale));
    for (std::size_t u = 0; u < op.factors.size(); ++u) {
      const std::int64_t count = op.lengths[u] * op.y.shape[1];
      add(x, f, y, count, static_cast<T>(op.scale * op.factors[u]));
      if (x != nullptr) x += count;
      f += count;
      y += count;
    }
  });
}

}  // namespace penstock::layers
