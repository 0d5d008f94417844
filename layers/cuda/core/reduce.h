#pragma once

#include "layers/cuda/core/block.h"

namespace penstock::layers::cuda {

struct Sum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

struct Largest {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

/// Combines `value` over all threads of a warp in a fixed order, and returns the result to each of
/// them. `combine` must be commutative.
template <class T, class Combine>
__device__ T combine_warp(T value, Combine combine) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value = combine(value, shuffle_xor(value, distance));
  return value;
}

/// Combines over a block of whole warps in the same way. Every thread must call it. `of_warp` is
/// shared memory for one number per warp; it must not be written again before a barrier after this
/// call.
template <class T, class Combine>
__device__ T combine_block(T value, T* of_warp, Combine combine) {
  value = combine_warp(value, combine);
  if (thread_x() % kWarp == 0) of_warp[thread_x() / kWarp] = value;
  __syncthreads();
  T all = of_warp[0];
  for (int warp = 1; warp < block_threads() / kWarp; ++warp) all = combine(all, of_warp[warp]);
  return all;
}

}  // namespace penstock::layers::cuda
