#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/elementwise/elementwise.h"
#include "layers/cuda/elementwise/gate_functions.h"
#include "layers/ops/elementwise.h"

namespace penstock::layers {
namespace cuda {
namespace {

/// Computes x · Φ(x), with the exact normal distribution Φ(x) = (1 + erf(x / √2)) / 2. Its slope is
/// Φ(x) + x · φ(x), with the density φ(x) = e^(-x²/2) / √(2π).
struct Gelu {
  static __device__ float distribution(float x) { return 0.5f * (1 + erff(x * 0.70710678f)); }
  static __device__ float value(float x) { return x * distribution(x); }
  static __device__ float slope(float x) {
    return distribution(x) + x * expf(-0.5f * x * x) * 0.39894228f;  // 1 / √(2π)
  }
};

/// Computes x · (1 + t) / 2 with t = tanh(√(2/π) · (x + 0.044715 x³)). The slope of t is (1 - t²)
/// times that of its argument.
struct GeluTanh {
  static constexpr float kScale = 0.79788456f, kCubic = 0.044715f;  // √(2/π)
  static __device__ float inner(float x) { return tanhf(kScale * (x + kCubic * x * x * x)); }
  static __device__ float value(float x) { return 0.5f * x * (1 + inner(x)); }
  static __device__ float slope(float x) {
    const float t = inner(x);
    return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * kScale * (1 + 3 * kCubic * x * x);
  }
};

template <class F>
struct Value {
  __device__ float operator()(const Cell&, float x) const { return F::value(x); }
};

template <class F>
struct TimesSlope {
  __device__ float operator()(const Cell&, float x, float dy) const { return dy * F::slope(x); }
};

/// Calls work(T{}, F{}) with the number type of `tensor` and the functions that `kind` names.
template <class Work>
void with_function(NonlinearityKind kind, const Tensor& tensor, const char* operation, Work work) {
  with_type_of(tensor, operation, [&]<class T>(T type) {
    switch (kind) {
      case NonlinearityKind::gelu:
        return work(type, Gelu{});
      case NonlinearityKind::gelu_tanh:
        return work(type, GeluTanh{});
      case NonlinearityKind::silu:
        return work(type, Silu{});
    }
  });
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const NonlinearityForward& op) {
  cuda::with_function(op.kind, op.x, "NonlinearityForward", [&]<class T, class F>(T, F) {
    cuda::map(static_cast<CudaStream&>(stream).handle(), cuda::flat(op.x.size()), cuda::Value<F>{},
              cuda::rows_to<T>(op.y), cuda::rows_of<T>(op.x));
  });
}

template <>
void CudaBackend::compute(Stream& stream, const NonlinearityBackward& op) {
  cuda::with_function(op.kind, op.x, "NonlinearityBackward", [&]<class T, class F>(T, F) {
    cuda::map(static_cast<CudaStream&>(stream).handle(), cuda::flat(op.x.size()),
              cuda::TimesSlope<F>{}, cuda::rows_to<T>(op.dx), cuda::rows_of<T>(op.x),
              cuda::rows_of<T>(op.dy));
  });
}

}  // namespace penstock::layers
