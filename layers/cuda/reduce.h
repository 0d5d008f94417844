#pragma once

#include "layers/cuda/block.h"

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

/// `value` of all threads of a warp combined, for each of them, in an order that is always the
/// same. `combine` must not care which of its arguments comes first.
template <class T, class Combine>
__device__ T combine_warp(T value, Combine combine) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value = combine(value, shuffle_xor(value, distance));
  return value;
}

/// The same over a block of whole warps. Every thread comes here. `of_warp` is shared memory for
/// one number a warp; until a barrier behind this call nobody may write there again.
template <class T, class Combine>
__device__ T combine_block(T value, T* of_warp, Combine combine) {
  value = combine_warp(value, combine);
  if (thread_x() % kWarp == 0) of_warp[thread_x() / kWarp] = value;
  sync_block();
  T all = of_warp[0];
  for (int warp = 1; warp < block_threads() / kWarp; ++warp) all = combine(all, of_warp[warp]);
  return all;
}

}  // namespace penstock::layers::cuda
