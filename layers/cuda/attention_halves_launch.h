#pragma once

#include "layers/cuda/attention_tile.h"
#include "layers/cuda/cuda_stream.h"
#include "layers/cuda/launch.h"

namespace penstock::layers::cuda {

// The kernels of attention in halves, T of f16 and bf16. A grid has a block for each tile and head.

/// u · k and v · r, which all of them read, where there are relative positions.
template <class T>
void fill_halves_biases(CudaStream& stream, const AttentionInput<T>& in, const AttentionRoom& room);

template <class T>
void launch_halves_forward(CudaStream& stream, const Grid& grid, const AttentionInput<T>& in,
                           T* y_FC);

/// dq of every frame.
template <class T>
void launch_halves_queries_backward(CudaStream& stream, const Grid& grid,
                                    const AttentionInput<T>& in, const AttentionOutputs<T>& out);

/// dk and dv of every frame, and each tile's share of du.
template <class T>
void launch_halves_keys_backward(CudaStream& stream, const Grid& grid, const AttentionInput<T>& in,
                                 const AttentionOutputs<T>& out);

struct HalvesDistanceGradients {
  float* dr_XC;
  float* dv_shares;         // of each tile of distances
  std::int64_t tile_count;  // of frames
};

/// dr of every distance, and each tile's share of dv.
template <class T>
void launch_halves_distances_backward(CudaStream& stream, const Grid& grid,
                                      const AttentionInput<T>& in, const AttentionOutputs<T>& out,
                                      const HalvesDistanceGradients& to);

}  // namespace penstock::layers::cuda
