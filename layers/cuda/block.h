#pragma once

#include <cuda_runtime.h>

#include <cstdint>

// What a kernel takes from CUDA beyond plain C++: indices, shared memory, barriers, shuffles.

/// Shared memory of a block, uninitialised: BLOCK_SHARED(float, tile, [32][33]).
#ifdef __CUDACC__  // else tests/emulated_cuda/emulation defines it, and CUDA's words used below
#define BLOCK_SHARED(T, name, dimensions) __shared__ T name dimensions
/// Before a loop: written out, so that arrays which it indexes stay in registers.
#define UNROLLED _Pragma("unroll")
#define NEVER_INLINED __noinline__
#endif

namespace penstock::layers::cuda {

inline constexpr int kWarp = 32;

__device__ inline int thread_x() { return static_cast<int>(threadIdx.x); }
__device__ inline int thread_y() { return static_cast<int>(threadIdx.y); }
__device__ inline std::int64_t block_x() { return blockIdx.x; }
__device__ inline std::int64_t block_y() { return blockIdx.y; }

__device__ inline int block_threads() { return static_cast<int>(blockDim.x); }

/// Place of the thread in a grid of one dimension.
__device__ inline std::int64_t grid_thread() { return block_x() * block_threads() + thread_x(); }

/// Every thread of the block comes here before any goes on; what they wrote is seen by all.
__device__ inline void sync_block() { __syncthreads(); }

/// Every thread of the warp comes here before any goes on; what they wrote is seen by all of them.
__device__ inline void sync_warp() { __syncwarp(); }

/// `value` of the thread `lane` of the warp; all take part.
template <class T>
__device__ T shuffle(T value, int lane) {
  return __shfl_sync(~0u, value, lane);
}

/// `value` of the thread whose lane differs in the bits of `distance`; all take part.
template <class T>
__device__ T shuffle_xor(T value, int distance) {
  return __shfl_xor_sync(~0u, value, distance);
}

/// `value` of the thread `distance` further in the warp, all of which take part.
template <class T>
__device__ T shuffle_down(T value, int distance) {
  return __shfl_down_sync(~0u, value, static_cast<unsigned>(distance));
}

}  // namespace penstock::layers::cuda
