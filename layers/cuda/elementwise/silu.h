#pragma once

#include <cuda_runtime.h>

namespace penstock::layers::cuda {

/// SiLU, x · σ(x), and its slope.
struct Silu {
  static __device__ float value(float x) { return x / (1 + expf(-x)); }
  static __device__ float slope(float x) {
    const float s = 1 / (1 + expf(-x));
    return s * (1 + x * (1 - s));
  }
};

}  // namespace penstock::layers::cuda
