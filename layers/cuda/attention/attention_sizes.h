#pragma once

#include <cstdint>

#include "layers/ops/attention.h"
#include "layers/philox.h"
#include "layers/scratch.h"

namespace penstock::layers::cuda {

/// Frames of one utterance in a block's tile: in FP32, which FMA multiplies, and in f16 and bf16,
/// which tensor cores multiply.
inline constexpr int kAttentionTile = 16, kHalvesTile = 64;

constexpr int attention_tile(DType compute) {
  return compute == DType::f32 ? kAttentionTile : kHalvesTile;
}

/// Channels of the widest head that fits into a block's tiles. Attention with wider heads, and
/// cross-attention, is multiplied by cuBLASLt, kProductTile queries at a time
/// (layers/cuda/attention/attention_products.h).
inline constexpr int kMaxHeadChannels = 128, kProductTile = 128;

inline bool multiplies_by_products(const AttentionGeometry& geometry) {
  return geometry.cross() || geometry.head_channels() > kMaxHeadChannels;
}

/// In f16 and bf16, frames of the other side that a block takes at a time, and its threads: one
/// warp for 16 rows.
inline constexpr int kHalvesColumns = 32, kHalvesThreads = kHalvesTile / 16 * 32;

/// The place of a tile of frames.
struct AttentionTilePlace {
  std::int64_t utterance_row;  // the utterance's first row in matrices of frames
  std::int64_t frames;         // frames of the utterance
  std::int64_t key_row, keys;  // its first row and its rows among keys: its frames, or its memory
  std::int64_t first;          // the tile's first frame within the utterance
  std::int64_t utterance;
};

/// Properties besides the geometry that decide the size of attention's workspace.
struct AttentionWorkspaceFor {
  bool relative, backward;
  DType compute;
};

/// Parts of the workspace of attention by products: for kProductTile queries Q, and for the keys K
/// of one utterance. They have no data if kernels multiply.
struct AttentionProductsWorkspace {
  AttentionProductsWorkspace(Scratch& scratch, const AttentionGeometry& geometry,
                             const AttentionWorkspaceFor& use);

  Tensor turned_FQ;                  // rotated q and k, side by side, of all frames
  Tensor scores_HKQ, d_weights_HKQ;  // q · k and dy · v, in FP32
  Tensor weights_HKQ, ds_HKQ;        // rounded
  Tensor dq_QC, dk_KC, dv_KC;        // FP32
};

/// Parts of attention's workspace on a CUDA device.
struct AttentionWorkspace {
  AttentionWorkspace(Scratch& scratch, const AttentionGeometry& geometry,
                     const AttentionWorkspaceFor& use);

  std::int64_t tile_count, distance_tile_count;
  AttentionTilePlace* tiles;
  PhiloxStream* random_UH;    // one per utterance and head
  float *cosines, *sines;     // of the rotary angles, [longest, d / 2]
  float* delta_HF;            // delta = dy · y of each head and frame
  float* bias_gradients;      // per tile; FP32: [tiles, 2, C], else [tiles + distance tiles, C]
  float* key_biases_HF;       // u · k, in f16 and bf16 only
  float* distance_biases_HX;  // v · r, in f16 and bf16 only
  AttentionProductsWorkspace products;
};

Workspace attention_workspace(const AttentionGeometry& geometry, bool relative, DType compute);

/// Parts of the workspace of attention with a cache, if an utterance has a past.
struct AttentionCachedWorkspace {
  AttentionCachedWorkspace(Scratch& scratch, const AttentionGeometry& geometry);

  std::int64_t* starts;  // first new row of each utterance, then the number of new rows
  std::int64_t* past;    // cached rows of each utterance
};

std::size_t attention_cached_workspace(const AttentionGeometry& geometry);

}  // namespace penstock::layers::cuda
