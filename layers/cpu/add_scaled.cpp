#include "layers/ops/add_scaled.h"

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/for_real.h"

namespace penstock::layers {

template <>
void CpuBackend::compute(Stream&, const AddScaled& op) {
  for_real(op.y.dtype, "AddScaled", [&]<class T>(T) {
    const std::int64_t count = op.y.size();
    const auto scale = static_cast<T>(op.scale);
    const T* f = op.f.as<T>();
    T* y = op.y.as<T>();
    if (op.x.data == nullptr) {
      for (std::int64_t i = 0; i < count; ++i) y[i] = scale * f[i];
      return;
    }
    const T* x = op.x.as<T>();
    for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] + scale * f[i];
  });
}

}  // namespace penstock::layers
