#include "layers/ops/elementwise.h"

#include <algorithm>
#include <numbers>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/gate_functions.h"
#include "layers/cpu/vector_math.h"
#include "layers/philox.h"

namespace penstock::layers {

// These operations compute one number at a time, or one of each half of a row. halves/cast.cpp
// converts between dtypes.

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

// NaN stays NaN: a comparison with it is false, and std::max and std::min then return their first
// argument.
template <class T>
void clip(const T* __restrict x, T* __restrict y, std::int64_t count, T bound) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = std::min(std::max(x[i], T{0}), bound);
}

// `&` evaluates both comparisons, so the loop has no branch and is vectorised.
template <class T>
void clip_gradient(const T* __restrict y, const T* __restrict dy, T* __restrict dx,
                   std::int64_t count, T bound) {
  for (std::int64_t i = 0; i < count; ++i) dx[i] = (y[i] > 0) & (y[i] < bound) ? dy[i] : T{0};
}

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

// Calls work(T{}, F{}) with the functions that `kind` and `dtype` name.
template <class Work>
void with_gate(GateKind kind, DType dtype, const char* operation, Work work) {
  for_real(dtype, operation, [&]<class T>(T) {
    switch (kind) {
      case GateKind::glu:
        return work(T{}, Glu<T>{});
      case GateKind::swiglu:
        return work(T{}, SwiGlu<T>{});
    }
  });
}

// Word c % 4 of block (c / 4, t) of the utterance's stream decides on channel c of frame t, which
// is dropped with that probability. The others are scaled so that the mean stays. The mask is the
// same on every device.
template <class T>
void drop(const DropoutMask& mask, std::int64_t channels, const T* from, T* to) {
  const auto limit = static_cast<std::uint64_t>(mask.probability * 0x1p32);
  const auto scale = static_cast<T>(1 / (1 - mask.probability));
  for (std::size_t u = 0; u < mask.lengths.size(); ++u) {
    const std::uint64_t utterance = mask.random.utterances[u];
    const PhiloxStream random =
        philox_stream(mask.random.seed,
                      {mask.layer, mask.random.epoch, low_word(utterance), high_word(utterance)});
    for (std::int64_t t = 0; t < mask.lengths[u]; ++t, from += channels, to += channels)
      for (std::int64_t c = 0; c < channels; c += 4) {
        const PhiloxBlock block =
            random(static_cast<std::uint32_t>(c / 4), static_cast<std::uint32_t>(t));
        const std::int64_t width = std::min<std::int64_t>(4, channels - c);
        for (std::int64_t k = 0; k < width; ++k)
          to[c + k] = block[static_cast<std::size_t>(k)] < limit ? T{0} : from[c + k] * scale;
      }
  }
}

}  // namespace

// An utterance is a run of rows, and so a run of numbers with one scale.
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

template <>
void CpuBackend::compute(Stream&, const ClippedReluForward& op) {
  for_real(op.x.dtype, "ClippedReluForward", [&]<class T>(T) {
    clip(op.x.as<T>(), op.y.as<T>(), op.y.size(), static_cast<T>(op.bound));
  });
}

template <>
void CpuBackend::compute(Stream&, const ClippedReluBackward& op) {
  for_real(op.y.dtype, "ClippedReluBackward", [&]<class T>(T) {
    clip_gradient(op.y.as<T>(), op.dy.as<T>(), op.dx.as<T>(), op.dx.size(),
                  static_cast<T>(op.bound));
  });
}

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

template <>
void CpuBackend::compute(Stream&, const GateForward& op) {
  with_gate(op.kind, op.x_FD.dtype, "GateForward", [&]<class T, class F>(T, F) {
    const std::int64_t rows = op.y_FC.shape[0], C = op.y_FC.shape[1];
    const T* x = op.x_FD.as<T>();
    T* y = op.y_FC.as<T>();
    for (std::int64_t row = 0; row < rows; ++row, x += 2 * C, y += C)
      for_each_vector<T>(C, [&](std::int64_t c, auto lanes) {
        const Halves<T> halves{load<T>(x + c, lanes), load<T>(x + C + c, lanes)};
        store<T>(y + c, F::value(halves), lanes);
      });
  });
}

template <>
void CpuBackend::compute(Stream&, const GateBackward& op) {
  with_gate(op.kind, op.x_FD.dtype, "GateBackward", [&]<class T, class F>(T, F) {
    const std::int64_t rows = op.dy_FC.shape[0], C = op.dy_FC.shape[1];
    const T* x = op.x_FD.as<T>();
    const T* dy = op.dy_FC.as<T>();
    T* dx = op.dx_FD.as<T>();
    for (std::int64_t row = 0; row < rows; ++row, x += 2 * C, dx += 2 * C, dy += C)
      for_each_vector<T>(C, [&](std::int64_t c, auto lanes) {
        const Halves<T> halves{load<T>(x + c, lanes), load<T>(x + C + c, lanes)};
        const Halves<T> gradient = F::gradient(halves, load<T>(dy + c, lanes));
        store<T>(dx + c, gradient.a, lanes);
        store<T>(dx + C + c, gradient.b, lanes);
      });
  });
}

template <>
void CpuBackend::compute(Stream&, const DropoutForward& op) {
  for_real(op.x_FC.dtype, "DropoutForward",
           [&]<class T>(T) { drop(op.mask, op.x_FC.shape[1], op.x_FC.as<T>(), op.y_FC.as<T>()); });
}

template <>
void CpuBackend::compute(Stream&, const DropoutBackward& op) {
  for_real(op.dy_FC.dtype, "DropoutBackward", [&]<class T>(T) {
    drop(op.mask, op.dy_FC.shape[1], op.dy_FC.as<T>(), op.dx_FC.as<T>());
  });
}

}  // namespace penstock::layers
