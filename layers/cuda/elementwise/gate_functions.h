#pragma once

#include <cuda_runtime.h>

namespace penstock::layers::cuda {

// These functions are SiLU and the gated linear units, of single numbers.

/// SiLU, x · σ(x), and its slope.
struct Silu {
  static __device__ float value(float x) { return x / (1 + expf(-x)); }
  static __device__ float slope(float x) {
    const float s = 1 / (1 + expf(-x));
    return s * (1 + x * (1 - s));
  }
};

/// One number of each half of a row; see layers/ops/elementwise.h.
struct HalfRows {
  float a, b;
};

/// a · σ(b) (Dauphin et al. 2017), and its gradient.
struct Glu {
  static __device__ float value(HalfRows x) { return x.a / (1 + expf(-x.b)); }
  static __device__ HalfRows gradient(HalfRows x, float dy) {
    const float s = 1 / (1 + expf(-x.b));
    return {dy * s, dy * x.a * s * (1 - s)};
  }
};

/// SiLU(a) · b (Shazeer 2020), and its gradient.
struct SwiGlu {
  static __device__ float value(HalfRows x) { return x.a / (1 + expf(-x.a)) * x.b; }
  static __device__ HalfRows gradient(HalfRows x, float dy) {
    const float s = 1 / (1 + expf(-x.a));
    return {dy * x.b * s * (1 + x.a * (1 - s)), dy * x.a * s};
  }
};

}  // namespace penstock::layers::cuda
