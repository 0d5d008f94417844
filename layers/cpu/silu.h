#pragma once

#include "layers/cpu/vector_math.h"

namespace penstock::layers {

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

}  // namespace penstock::layers
