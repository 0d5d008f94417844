#pragma once

#include "layers/cpu/vector_math.h"

namespace penstock::layers {

// These functions are SiLU and the gated linear units, of whole vectors.

/// SiLU, x · σ(x), and its slope, of whole vectors.
template <class T>
struct Silu {
  using V = Vector<T>;
  static V value(V x) { return x * sigmoid(x); }
  static V slope(V x) {
    const V s = sigmoid(x);
    return s * (T(1) + x * (T(1) - s));
  }
};

/// One vector of each half of a row; see layers/ops/elementwise.h.
template <class T>
struct Halves {
  Vector<T> a, b;
};

/// a · σ(b) (Dauphin et al. 2017), and its gradient.
template <class T>
struct Glu {
  static Vector<T> value(const Halves<T>& x) { return x.a * sigmoid(x.b); }
  static Halves<T> gradient(const Halves<T>& x, Vector<T> dy) {
    const Vector<T> s = sigmoid(x.b);
    return {dy * s, dy * x.a * s * (T(1) - s)};
  }
};

/// SiLU(a) · b (Shazeer 2020), and its gradient.
template <class T>
struct SwiGlu {
  static Vector<T> value(const Halves<T>& x) { return x.a * sigmoid(x.a) * x.b; }
  static Halves<T> gradient(const Halves<T>& x, Vector<T> dy) {
    const Vector<T> s = sigmoid(x.a);
    return {dy * x.b * s * (T(1) + x.a * (T(1) - s)), dy * x.a * s};
  }
};

}  // namespace penstock::layers
