#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <utility>

#include "layers/tensor/cuda/handles.h"

namespace penstock::layers::cuda {

struct Grid {
  dim3 blocks;
  dim3 threads;
};

/// Returns a grid with a thread for each of `count` numbers, in blocks of 256. Kernels must check
/// the end.
inline Grid grid_over(std::int64_t count) {
  return {dim3(static_cast<unsigned>((count + 255) / 256)), dim3(256)};
}

/// Launches a kernel. No other function launches any. An empty grid is no work. Throws DeviceError
/// if CUDA refuses.
template <class... Parameters, class... Arguments>
void launch(cudaStream_t stream, const Grid& grid, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  if (grid.blocks.x == 0 || grid.blocks.y == 0) return;
  cudaLaunchConfig_t config{};
  config.gridDim = grid.blocks;
  config.blockDim = grid.threads;
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...),
        "starting a kernel");
}

}  // namespace penstock::layers::cuda
