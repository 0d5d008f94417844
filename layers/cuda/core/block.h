#pragma once

#include <cuda_runtime.h>

#include <cstdint>

// The parts of CUDA that kernels use beyond plain C++: indices, shared memory, barriers and
// shuffles. Tests replace them by an emulation on the host.

/// Declares shared memory of a block, uninitialised: BLOCK_SHARED(float, tile, [32][33]).
#ifdef __CUDACC__  // else tests/emulated_cuda/emulation defines it and CUDA's words below
#define BLOCK_SHARED(T, name, dimensions) __shared__ T name dimensions
/// Unrolls the loop that follows, so that arrays which it indexes stay in registers.
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

/// Returns the thread's index in a one-dimensional grid.
__device__ inline std::int64_t grid_thread() { return block_x() * block_threads() + thread_x(); }

/// Returns `value` of lane `lane` of the warp. All lanes must call it.
template <class T>
__device__ T shuffle(T value, int lane) {
  return __shfl_sync(~0u, value, lane);
}

/// Returns `value` of the lane whose number differs in the bits of `distance`. All lanes must call
/// it.
template <class T>
__device__ T shuffle_xor(T value, int distance) {
  return __shfl_xor_sync(~0u, value, distance);
}

/// Returns `value` of the lane that is `distance` further in the warp. All lanes must call it.
template <class T>
__device__ T shuffle_down(T value, int distance) {
  return __shfl_down_sync(~0u, value, static_cast<unsigned>(distance));
}

}  // namespace penstock::layers::cuda
