#include "layers/cuda/attention/attention_sizes.h"

#include "layers/cuda/core/utterances_sizes.h"

// A block takes a tile of frames of one utterance and one head. Tiles don't span utterances, so 100
// frames are 7 tiles in FP32 and 2 in halves, and their number follows from all lengths.
//
// In backward, each tile leaves its share of the gradients of the biases u and v, and the shares
// are then added in order. In FP32, a tile of queries has both. In halves, the gradient of v comes
// from tiles of distances instead.

namespace penstock::layers::cuda {

AttentionProductsWorkspace::AttentionProductsWorkspace(Scratch& scratch,
                                                       const AttentionGeometry& geometry,
                                                       const AttentionWorkspaceFor& use) {
  if (!multiplies_by_products(geometry)) return;
  const std::int64_t keys = geometry.most_keys(), columns = geometry.key_channels();
  const Shape tile = {geometry.heads, keys, kProductTile};
  if (geometry.rotary_base != 0)
    turned_FQ =
        tensor_in(scratch, use.compute, {rows_of(geometry.lengths), geometry.channels + columns});
  scores_HKQ = tensor_in(scratch, DType::f32, tile);
  weights_HKQ = tensor_in(scratch, use.compute, tile);
  if (!use.backward) return;
  d_weights_HKQ = tensor_in(scratch, DType::f32, tile);
  ds_HKQ = tensor_in(scratch, use.compute, tile);
  dq_QC = tensor_in(scratch, DType::f32, {kProductTile, geometry.channels});
  dk_KC = tensor_in(scratch, DType::f32, {keys, columns});
  dv_KC = tensor_in(scratch, DType::f32, {keys, columns});
}

AttentionWorkspace::AttentionWorkspace(Scratch& scratch, const AttentionGeometry& geometry,
                                       const AttentionWorkspaceFor& use)
    : tile_count(0), products(scratch, geometry, use) {
  const std::int64_t tile = attention_tile(use.compute), rows = rows_of(geometry.lengths);
  for (const std::int64_t frames : geometry.lengths) tile_count += (frames + tile - 1) / tile;
  distance_tile_count = (geometry.distances() + tile - 1) / tile;
  const auto utterances = static_cast<std::int64_t>(geometry.lengths.size());
  const std::int64_t angles =
      geometry.rotary_base == 0 ? 0 : geometry.longest() * (geometry.head_channels() / 2);
  tiles = scratch.take<AttentionTilePlace>(tile_count);
  random_UH = scratch.take<PhiloxStream>(utterances * geometry.heads);
  cosines = scratch.take<float>(angles);
  sines = scratch.take<float>(angles);
  delta_HF = scratch.take<float>(use.backward ? geometry.heads * rows : 0);
  const bool halves = use.compute != DType::f32;
  const std::int64_t shares = halves ? tile_count + distance_tile_count : 2 * tile_count;
  bias_gradients =
      scratch.take<float>(use.backward && use.relative ? shares * geometry.channels : 0);
  const std::int64_t biased_heads = halves && use.relative ? geometry.heads : 0;
  key_biases_HF = scratch.take<float>(biased_heads * rows);
  distance_biases_HX = scratch.take<float>(biased_heads * geometry.distances());
}

Workspace attention_workspace(const AttentionGeometry& geometry, bool relative, DType compute) {
  Scratch forward, backward;
  AttentionWorkspace(forward, geometry, {relative, false, compute});
  AttentionWorkspace(backward, geometry, {relative, true, compute});
  return {.forward = forward.used(), .backward_input = backward.used()};
}

AttentionCachedWorkspace::AttentionCachedWorkspace(Scratch& scratch,
                                                   const AttentionGeometry& geometry)
    : starts(scratch.take<std::int64_t>(static_cast<std::int64_t>(geometry.lengths.size()) + 1)),
      past(scratch.take<std::int64_t>(static_cast<std::int64_t>(geometry.lengths.size()))) {}

std::size_t attention_cached_workspace(const AttentionGeometry& geometry) {
  Scratch scratch;
  AttentionCachedWorkspace(scratch, geometry);
  return scratch.used();
}

}  // namespace penstock::layers::cuda
