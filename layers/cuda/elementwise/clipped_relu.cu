#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/elementwise/elementwise.h"
#include "layers/ops/elementwise.h"

namespace penstock::layers {
namespace cuda {
namespace {

/// Clips to [0, bound]. The comparisons are written so that NaN stays NaN.
struct Clip {
  float bound;
  __device__ float operator()(const Cell&, float x) const {
    return x < 0 ? 0.0f : x > bound ? bound : x;
  }
};

/// Passes the gradient only if y lies strictly between 0 and the bound.
struct PassBetweenKinks {
  float bound;
  __device__ float operator()(const Cell&, float y, float dy) const {
    return y > 0 && y < bound ? dy : 0.0f;
  }
};

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const ClippedReluForward& op) {
  cuda::with_type_of(op.x, "ClippedReluForward", [&]<class T>(T) {
    cuda::map(static_cast<CudaStream&>(stream).handle(), cuda::flat(op.x.size()),
              cuda::Clip{static_cast<float>(op.bound)}, cuda::rows_to<T>(op.y),
              cuda::rows_of<T>(op.x));
  });
}

template <>
void CudaBackend::compute(Stream& stream, const ClippedReluBackward& op) {
  cuda::with_type_of(op.y, "ClippedReluBackward", [&]<class T>(T) {
    cuda::map(static_cast<CudaStream&>(stream).handle(), cuda::flat(op.y.size()),
              cuda::PassBetweenKinks{static_cast<float>(op.bound)}, cuda::rows_to<T>(op.dx),
              cuda::rows_of<T>(op.y), cuda::rows_of<T>(op.dy));
  });
}

}  // namespace penstock::layers
