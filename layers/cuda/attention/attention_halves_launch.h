#pragma once

#include "layers/cuda/attention/attention_tile.h"
#include "layers/cuda/core/cuda_stream.h"
#include "layers/cuda/core/launch.h"

namespace penstock::layers::cuda {

// Launches the kernels of attention in f16 and bf16. A grid has a block for each tile and head.

/// Computes u · k and v · r, which all the kernels read. Does nothing if there are no relative
/// positions.
template <class T>
void fill_halves_biases(CudaStream& stream, const AttentionInput<T>& in,
                        const AttentionWorkspace& room);

template <class T>
void launch_halves_forward(CudaStream& stream, const Grid& grid, const AttentionInput<T>& in,
                           T* y_FC);

/// Computes dq of every frame.
template <class T>
void launch_halves_queries_backward(CudaStream& stream, const Grid& grid,
                                    const AttentionInput<T>& in, const AttentionOutputs<T>& out);

/// Computes dk and dv of every frame, and each tile's share of du.
template <class T>
void launch_halves_keys_backward(CudaStream& stream, const Grid& grid, const AttentionInput<T>& in,
                                 const AttentionOutputs<T>& out);

struct HalvesDistanceGradients {
  float* dr_XC;
  float* dv_shares;         // [tiles of distances, C]
  std::int64_t tile_count;  // tiles of frames
};

/// Computes dr of every distance, and each distance tile's share of dv.
template <class T>
void launch_halves_distances_backward(CudaStream& stream, const Grid& grid,
                                      const AttentionInput<T>& in, const AttentionOutputs<T>& out,
                                      const HalvesDistanceGradients& to);

}  // namespace penstock::layers::cuda
