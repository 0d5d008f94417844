#include <cmath>
#include <vector>

#include "layers/cuda/attention/attention.h"
#include "layers/cuda/attention/rotary.h"

namespace penstock::layers::cuda {
namespace {

struct Angles {
  std::int64_t frames;
  int half;
  double base;
};

/// Fills the tables of rotary embeddings: frame t has angle t · base^(-c / half) for channel c <
/// half. One thread per angle, in FP64.
__global__ void rotate(Angles of, float* cosines, float* sines) {
  const std::int64_t i = grid_thread();
  if (i >= of.frames * of.half) return;
  const double angle = rotary_angle(of.base, i / of.half, static_cast<int>(i % of.half), of.half);
  cosines[i] = static_cast<float>(cos(angle));
  sines[i] = static_cast<float>(sin(angle));
}

/// Cuts each utterance into tiles of `tile` frames. No tile spans two utterances; an utterance's
/// last tile may be partly empty.
std::vector<AttentionTilePlace> tiles_of(std::span<const std::int64_t> lengths, int tile) {
  std::vector<AttentionTilePlace> tiles;
  std::int64_t row = 0;
  for (std::size_t u = 0; u < lengths.size(); row += lengths[u], ++u)
    for (std::int64_t first = 0; first < lengths[u]; first += tile)
      tiles.push_back({.utterance_row = row,
                       .frames = lengths[u],
                       .key_row = row,
                       .keys = lengths[u],
                       .first = first,
                       .utterance = static_cast<std::int64_t>(u)});
  return tiles;
}

/// Returns the random streams of dropout, [utterance][head], with the keys that AttentionForward
/// documents.
std::vector<PhiloxStream> streams_of(const DropoutMask& mask, std::int64_t heads) {
  std::vector<PhiloxStream> streams;
  for (const std::uint64_t utterance : mask.random.utterances)
    for (std::uint32_t head = 0; head < heads; ++head)
      streams.push_back(
          philox_stream(mask.random.seed, {mask.layer + 2654435769u * head, mask.random.epoch,
                                           low_word(utterance), high_word(utterance)}));
  return streams;
}

}  // namespace

// Uploads the places of all tiles and the streams of dropout, and has the device compute the rotary
// angles. Without dropout the limit is 0, and no kernel reads a stream.
PreparedAttention::PreparedAttention(CudaStream& stream, const AttentionGeometry& geometry,
                                     const DropoutMask& dropout, std::span<std::byte> workspace,
                                     const AttentionWorkspaceFor& use)
    : geometry_(geometry),
      scratch_(workspace),
      room_(scratch_, geometry, use),
      tile_threads_(use.compute == DType::f32 ? kAttentionTile * kAttentionTile : kHalvesThreads),
      drop_limit_(static_cast<std::uint64_t>(dropout.probability * 0x1p32)),
      keep_factor_(static_cast<float>(1 / (1 - dropout.probability))),
      scale_(1 / std::sqrt(static_cast<float>(geometry.head_channels()))) {
  if (geometry.head_channels() > kMaxHeadChannels && use.relative)
    throw_head_too_wide(geometry.head_channels(), kMaxHeadChannels);
  if (use.compute != DType::f32 && use.relative && geometry.rotary_base != 0) throw_two_positions();
  const auto tiles = tiles_of(geometry.lengths, attention_tile(use.compute));
  stream.copy_in(room_.tiles, tiles.data(), tiles.size() * sizeof(AttentionTilePlace));
  if (drop_limit_ > 0) {
    const auto streams = streams_of(dropout, geometry.heads);
    stream.copy_in(room_.random_UH, streams.data(), streams.size() * sizeof(PhiloxStream));
  }
  fill_angles(stream);
}

// Angles depend on frame and channel alone, so one table serves all utterances and heads.
void PreparedAttention::fill_angles(CudaStream& stream) const {
  if (geometry_.rotary_base == 0) return;
  const Angles angles{geometry_.longest(), static_cast<int>(geometry_.head_channels() / 2),
                      geometry_.rotary_base};
  launch(stream.handle(), grid_over(angles.frames * angles.half), rotate, angles, room_.cosines,
         room_.sines);
}

Grid PreparedAttention::grid(std::int64_t tiles) const {
  return {dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(geometry_.heads)),
          dim3(static_cast<unsigned>(tile_threads_))};
}

Grid PreparedAttention::keys_grid() const {
  Grid keys = grid();
  keys.blocks.y = static_cast<unsigned>(geometry_.key_heads());
  return keys;
}

}  // namespace penstock::layers::cuda
