#pragma once

#include "layers/cpu/vector_math.h"

namespace penstock::layers {

/// One vector of each half of a row; see layers/ops/gate.h.
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
