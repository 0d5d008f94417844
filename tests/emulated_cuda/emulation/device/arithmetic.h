#pragma once

#include <cmath>

// These functions of CUDA's arithmetic are given to nvcc alone; penstock's kernels use them. Fast
// forms are answered by exact ones: tests compare with tolerances.

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
