#include "layers/ops/nonlinearity.h"

#include <numbers>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/for_real.h"
#include "layers/cpu/silu.h"
#include "layers/cpu/vector_math.h"

namespace penstock::layers {
namespace {

// GELU with the exact normal distribution Φ (Hendrycks & Gimpel 2016): its value and slope, of
// whole vectors.
template <class T>
struct Gelu {
  using V = Vector<T>;
  static V distribution(V x) {  // Φ
    return T(0.5) * (T(1) + erf(x * static_cast<T>(1 / std::numbers::sqrt2)));
  }
  static V value(V x) { return x * distribution(x); }
  static V slope(V x) {
    constexpr double kDensityAt0 = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    return distribution(x) + x * exp(x * x * T(-0.5)) * static_cast<T>(kDensityAt0);
  }
};

// GELU with Φ approximated by tanh, as in PyTorch's approximate="tanh".
template <class T>
struct GeluTanh {
  using V = Vector<T>;
  static constexpr T kScale =
      static_cast<T>(std::numbers::sqrt2 * std::numbers::inv_sqrtpi);  // √(2/π)
  static constexpr T kCubic = static_cast<T>(0.044715);
  static V inner(V x) { return tanh(kScale * (x + kCubic * x * x * x)); }
  static V value(V x) { return T(0.5) * x * (T(1) + inner(x)); }
  static V slope(V x) {
    const V t = inner(x);
    return T(0.5) * (T(1) + t) +
           T(0.5) * x * (T(1) - t * t) * kScale * (T(1) + T(3) * kCubic * x * x);
  }
};

// Calls work(F<T>{}) with the functions that `kind` and `dtype` name.
template <class Work>
void with_function(NonlinearityKind kind, DType dtype, const char* operation, Work work) {
  for_real(dtype, operation, [&]<class T>(T) {
    switch (kind) {
      case NonlinearityKind::gelu:
        return work(T{}, Gelu<T>{});
      case NonlinearityKind::gelu_tanh:
        return work(T{}, GeluTanh<T>{});
      case NonlinearityKind::silu:
        return work(T{}, Silu<T>{});
    }
  });
}

}  // namespace

template <>
void CpuBackend::compute(Stream&, const NonlinearityForward& op) {
  with_function(op.kind, op.x.dtype, "NonlinearityForward", [&]<class T, class F>(T, F) {
    const T* x = op.x.as<T>();
    T* y = op.y.as<T>();
    for_each_vector<T>(op.x.size(), [&](std::int64_t i, auto lanes) {
      store<T>(y + i, F::value(load<T>(x + i, lanes)), lanes);
    });
  });
}

template <>
void CpuBackend::compute(Stream&, const NonlinearityBackward& op) {
  with_function(op.kind, op.x.dtype, "NonlinearityBackward", [&]<class T, class F>(T, F) {
    const T* x = op.x.as<T>();
    const T* dy = op.dy.as<T>();
    T* dx = op.dx.as<T>();
    for_each_vector<T>(op.x.size(), [&](std::int64_t i, auto lanes) {
      store<T>(dx + i, load<T>(dy + i, lanes) * F::slope(load<T>(x + i, lanes)), lanes);
    });
  });
}

}  // namespace penstock::layers
