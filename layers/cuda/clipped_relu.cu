#include "layers/cuda/block.h"
#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/launch.h"
#include "layers/cuda/numbers.h"
#include "layers/ops/clipped_relu.h"

namespace penstock::layers {
namespace cuda {
namespace {

template <class T>
__global__ void clip(const T* x, T* y, std::int64_t count, float bound) {
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const float value = to_float(x[i]);
  // Written so that NaN stays NaN.
  y[i] = from_float<T>(value < 0 ? 0.0f : value > bound ? bound : value);
}

template <class T>
__global__ void pass_between_kinks(const T* y, const T* dy, T* dx, std::int64_t count,
                                   float bound) {
  const std::int64_t i = grid_thread();
  if (i >= count) return;
  const float value = to_float(y[i]);
  dx[i] = value > 0 && value < bound ? dy[i] : from_float<T>(0.0f);
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const ClippedReluForward& op) {
  cuda::with_type_of(op.x, "ClippedReluForward", [&]<class T>(T) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.x.size()),
                 cuda::clip<T>, cuda::data_of<T>(op.x), cuda::data_of<T>(op.y), op.x.size(),
                 static_cast<float>(op.bound));
  });
}

template <>
void CudaBackend::compute(Stream& stream, const ClippedReluBackward& op) {
  cuda::with_type_of(op.y, "ClippedReluBackward", [&]<class T>(T) {
    cuda::launch(static_cast<CudaStream&>(stream).handle(), cuda::grid_over(op.y.size()),
                 cuda::pass_between_kinks<T>, cuda::data_of<T>(op.y), cuda::data_of<T>(op.dy),
                 cuda::data_of<T>(op.dx), op.y.size(), static_cast<float>(op.bound));
  });
}

}  // namespace penstock::layers
