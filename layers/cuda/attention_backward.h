#pragma once

#include "layers/cuda/attention_tile.h"
#include "layers/cuda/cuda_stream.h"
#include "layers/cuda/launch.h"

namespace penstock::layers::cuda {

/// dk and dv of every frame: a block for each tile and head.
template <class T>
void launch_keys_backward(CudaStream& stream, const Grid& grid, const AttentionInput<T>& in,
                          const AttentionOutputs<T>& out);

struct DistanceGradients {
  float* dr_XC;
  std::int64_t tile_count;  // of frames
};

/// dr of every distance: a block for so many distances as a tile has frames, and each head.
template <class T>
void launch_distances_backward(CudaStream& stream, const Grid& grid, const AttentionInput<T>& in,
                               const AttentionOutputs<T>& out, const DistanceGradients& to);

}  // namespace penstock::layers::cuda
