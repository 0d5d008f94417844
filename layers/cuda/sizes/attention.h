#pragma once

#include <cstdint>

#include "layers/ops/attention.h"
#include "layers/philox.h"
#include "layers/scratch.h"

namespace penstock::layers::cuda {

/// Frames of one utterance that a block of threads computes together: those of FP32, which plain
/// arithmetic multiplies, and those of halves, which tensor cores do.
inline constexpr int kAttentionTile = 16, kHalvesTile = 64;

constexpr int attention_tile(DType compute) {
  return compute == DType::f32 ? kAttentionTile : kHalvesTile;
}

/// Frames that a block takes at a time beside those, in halves, and its threads: a warp for 16
/// rows.
inline constexpr int kHalvesColumns = 32, kHalvesThreads = kHalvesTile / 16 * 32;

/// Where a tile of frames lies.
struct AttentionTilePlace {
  std::int64_t utterance_row;  // of the utterance's first frame, in matrices of frames
  std::int64_t frames;         // of the utterance
  std::int64_t first;          // of the tile, within the utterance
  std::int64_t utterance;
};

/// What decides how much room attention needs besides its geometry.
struct AttentionRoomFor {
  bool relative, backward;
  DType compute;
};

/// Parts of attention's workspace on a CUDA device.
struct AttentionRoom {
  AttentionRoom(Scratch& scratch, const AttentionGeometry& geometry, const AttentionRoomFor& use);

  std::int64_t tile_count, distance_tile_count;
  AttentionTilePlace* tiles;
  PhiloxStream* random_UH;    // of each utterance's heads
  float *cosines, *sines;     // [longest, d / 2], of the rotary angles
  float* through_sums_HF;     // dy · y of each frame's heads
  float* bias_gradients;      // sums of a tile: FP32's [tiles, 2, C], else [tiles + distances', C]
  float* key_biases_HF;       // u · k of halves
  float* distance_biases_HX;  // v · r of halves
};

Workspace attention_workspace(const AttentionGeometry& geometry, bool relative, DType compute);

}  // namespace penstock::layers::cuda
