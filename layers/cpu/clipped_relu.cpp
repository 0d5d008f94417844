#include "layers/ops/clipped_relu.h"

#include <algorithm>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/for_real.h"

namespace penstock::layers {
namespace {

template <class T>
void forward(const T* __restrict x, T* __restrict y, std::int64_t count, T bound) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = std::min(std::max(x[i], T{0}), bound);
}

template <class T>
void backward(const T* __restrict y, const T* __restrict dy, T* __restrict dx, std::int64_t count,
              T bound) {
  for (std::int64_t i = 0; i < count; ++i) dx[i] = (y[i] > 0) & (y[i] < bound) ? dy[i] : T{0};
}

}  // namespace

template <>
void CpuBackend::compute(Stream&, const ClippedReluForward& op) {
  for_real(op.x.dtype, "ClippedReluForward", [&]<class T>(T) {
    forward(op.x.as<T>(), op.y.as<T>(), op.y.size(), static_cast<T>(op.bound));
  });
}

template <>
void CpuBackend::compute(Stream&, const ClippedReluBackward& op) {
  for_real(op.y.dtype, "ClippedReluBackward", [&]<class T>(T) {
    backward(op.y.as<T>(), op.dy.as<T>(), op.dx.as<T>(), op.dx.size(), static_cast<T>(op.bound));
  });
}

}  // namespace penstock::layers
