#pragma once

#include "layers/cuda/attention_tile.h"
#include "layers/cuda/cuda_stream.h"
#include "layers/cuda/launch.h"

namespace penstock::layers::cuda {

/// Computes dk and dv of every frame. One block per tile and head.
template <class T>
void launch_keys_backward(CudaStream& stream, const Grid& grid, const AttentionInput<T>& in,
                          const AttentionOutputs<T>& out);

struct DistanceGradients {
  float* dr_XC;
  std::int64_t tile_count;  // tiles of frames, over all utterances
};

/// Computes dr of every distance. One block per head and tile of kAttentionTile distances.
template <class T>
void launch_distances_backward(CudaStream& stream, const Grid& grid, const AttentionInput<T>& in,
                               const AttentionOutputs<T>& out, const DistanceGradients& to);

}  // namespace penstock::layers::cuda
