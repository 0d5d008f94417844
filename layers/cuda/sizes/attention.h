#pragma once

#include <cstdint>

#include "layers/ops/attention.h"
#include "layers/philox.h"
#include "layers/scratch.h"

namespace penstock::layers::cuda {

/// Frames of one utterance that a block of threads computes together.
inline constexpr int kAttentionTile = 16;

/// Where a tile of frames lies.
struct AttentionTilePlace {
  std::int64_t utterance_row;  // of the utterance's first frame, in matrices of frames
  std::int64_t frames;         // of the utterance
  std::int64_t first;          // of the tile, within the utterance
  std::int64_t utterance;
};

/// Parts of attention's workspace on a CUDA device.
struct AttentionRoom {
  AttentionRoom(Scratch& scratch, const AttentionGeometry& geometry, bool relative, bool backward);

  std::int64_t tile_count;
  AttentionTilePlace* tiles;
  PhiloxStream* random_UH;  // of each utterance's heads
  float *cosines, *sines;   // [longest, d / 2], of the rotary angles
  float* through_sums_HF;   // dy · y of each frame's heads
  float* bias_gradients_2;  // [tiles, 2, C]: sums of a tile
};

Workspace attention_workspace(const AttentionGeometry& geometry, bool relative);

}  // namespace penstock::layers::cuda
