#include "layers/cuda/sizes/attention.h"

#include "layers/cuda/sizes/utterances.h"

namespace penstock::layers::cuda {

AttentionRoom::AttentionRoom(Scratch& scratch, const AttentionGeometry& geometry, bool relative,
                             bool backward)
    : tile_count(0) {
  for (const std::int64_t frames : geometry.lengths)
    tile_count += (frames + kAttentionTile - 1) / kAttentionTile;
  const auto utterances = static_cast<std::int64_t>(geometry.lengths.size());
  const std::int64_t angles =
      geometry.rotary_base == 0 ? 0 : geometry.longest() * (geometry.head_channels() / 2);
  tiles = scratch.take<AttentionTilePlace>(tile_count);
  random_UH = scratch.take<PhiloxStream>(utterances * geometry.heads);
  cosines = scratch.take<float>(angles);
  sines = scratch.take<float>(angles);
  through_sums_HF = scratch.take<float>(backward ? geometry.heads * rows_of(geometry.lengths) : 0);
  bias_gradients_2 =
      scratch.take<float>(backward && relative ? tile_count * 2 * geometry.channels : 0);
}

Workspace attention_workspace(const AttentionGeometry& geometry, bool relative) {
  Scratch forward, backward;
  AttentionRoom(forward, geometry, relative, false);
  AttentionRoom(backward, geometry, relative, true);
  return {.forward = forward.used(), .backward_input = backward.used()};
}

}  // namespace penstock::layers::cuda
