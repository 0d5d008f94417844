#include "layers/cuda/block.h"
#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/launch.h"
#include "layers/cuda/numbers.h"
#include "layers/ops/add_scaled.h"

namespace penstock::layers {
namespace cuda {
namespace {

/// `x` may be null, or y; `f` may be y.
template <class T>
__global__ void add_scaled(const T* x, const T* f, T* y, std::int64_t count, float scale) {
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const float value = scale * to_float(f[i]);
  y[i] = from_float<T>(x == nullptr ? value : to_float(x[i]) + value);
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const AddScaled& op) {
  cuda::with_type_of(op.y, "AddScaled", [&]<class T>(T) {
    const T* x = op.x.data == nullptr ? nullptr : cuda::data_of<T>(op.x);
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.y.size()),
                 cuda::add_scaled<T>, x, cuda::data_of<T>(op.f), cuda::data_of<T>(op.y),
                 op.y.size(), static_cast<float>(op.scale));
  });
}

}  // namespace penstock::layers
