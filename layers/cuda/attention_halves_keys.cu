#include "layers/cuda/attention_halves_launch.h"
#include "layers/cuda/halves_sums.h"

namespace penstock::layers::cuda {
namespace {

/// Stores dk, rotated back, and dv of the warp's frames from `first` on.
template <class T, int kTiles>
__device__ void store_halves_keys(const AttentionHead<T>& of, T* dqkv_FP, std::int64_t first,
                                  const FragmentC (&dk)[kTiles], const FragmentC (&dv)[kTiles]) {
  const auto& in = of.in;
  HeadRows<T> to{dqkv_FP + of.element(0, 3 * in.channels) + in.channels, 3 * in.channels,
                 of.tile.frames, in.cosines != nullptr};
  store_sums(in, to, first, dk, {in.scale, in.scale});
  to.first += in.channels;
  to.turned = false;
  store_sums(in, to, first, dv, {1, 1});
}

/// The shared memory of a block that owns a tile of keys while queries pass by.
template <class T, int kWidth>
struct KeyTile {
  const AttentionHead<T>& of;
  const AttentionOutputs<T>& out;
  HalvesRow<T, kWidth>* queries;
  HalvesRow<T, kWidth>* others;
  BandRow<kTileBlocks>* bands;
  float* biases;
  QuerySums* sums;

  /// Loads the warp's 16 frames of the tile into registers. All threads of the block must call it.
  __device__ OwnRows<T, kWidth> own(AttentionPart part) const {
    sync_block();
    load_rows(of.in, part_rows(of, part), of.tile.first, kHalvesTile, others);
    sync_block();
    return OwnRows<T, kWidth>(others + 16 * warp_of_block());
  }
  /// Loads kHalvesColumns queries from `query` on, fills their bands, and then loads their dy into
  /// `others`.
  __device__ void load(std::int64_t query) const {
    const auto& in = of.in;
    sync_block();
    load_rows(in, part_rows(of, AttentionPart::query), query, kHalvesColumns, queries);
    load_query_sums(of, out.through_sums_HF, query, sums);
    if (in.r_XC != nullptr) {
      const std::int64_t x = in.longest - (query + kHalvesColumns - of.tile.first);
      load_rows(in, distance_rows(of), x, kHalvesBandRows, others);
      fill(biases, kHalvesBandRows, [&](int r) { return distance_bias(of, x + r); });
      sync_block();
      const auto from = [](int chunk) { return kHalvesColumns - 16 - 16 * chunk; };
      fill_bands(queries, others, biases, from, bands);
      sync_block();
    }
    load_rows(in, output_rows(of, out.dy_FC), query, kHalvesColumns, others);
    sync_block();
  }
  /// Adds Σ ds · u to dk, and stores Σ ds · k as the tile's share of du. All threads of the block
  /// must call it.
  __device__ void add_biases(GradientSums ds_sums, FragmentC (&dk)[kWidth / 8]) const {
    const auto& in = of.in;
    ds_sums.combine();
    ds_sums.add_bias(in.u_C + of.head * in.width, in.width, dk);
    own(AttentionPart::key);
    ds_sums.store(biases);
    sync_block();
    store_bias_share(in, others, biases,
                     out.bias_gradients + block_x() * in.channels + of.head * in.width);
  }
};

/// Computes dk and dv of a tile's frames, and the tile's share of du, as in FlashAttention-2. Block
/// (tile, head); each warp owns 16 keys, the rows of its scores, whose columns are queries.
///
/// Keys and values stay in registers as operands; dk and dv are accumulators. Static shared memory
/// is 45.1 KiB at width 128.
template <class T, int kWidth>
__global__ void keys_backward_halves(AttentionInput<T> in, AttentionOutputs<T> out) {
  using Row = HalvesRow<T, kWidth>;
  BLOCK_SHARED(Row, queries, [kHalvesColumns]);
  BLOCK_SHARED(Row, others, [kHalvesBandRows]);  // k, v, then r and dy
  BLOCK_SHARED(BandRow<kTileBlocks>, bands, [kHalvesColumns]);
  BLOCK_SHARED(float, biases, [kHalvesBandRows]);
  BLOCK_SHARED(QuerySums, sums, [kHalvesColumns]);
  const AttentionHead<T> of{in, in.tiles[block_x()], static_cast<int>(block_y())};
  const KeyTile<T, kWidth> tile{of, out, queries, others, bands, biases, sums};
  const int own_first = 16 * warp_of_block();
  const std::int64_t first = of.tile.first + own_first;
  const OwnRows<T, kWidth> keys = tile.own(AttentionPart::key);
  const OwnRows<T, kWidth> values = tile.own(AttentionPart::value);
  const float own_biases[2] = {key_bias(of, first + FragmentC::row(0)),
                               key_bias(of, first + FragmentC::row(2))};
  FragmentC dk[kWidth / 8], dv[kWidth / 8];
  GradientSums ds_sums;
  const TileRange range = seeing(in, of.tile, {kHalvesTile, kHalvesColumns});
  for (std::int64_t query = range.first; query < range.end; query += kHalvesColumns) {
    tile.load(query);
    FragmentC scores[kColumnTiles], weights[kColumnTiles];
    multiply_transposed(keys, queries, scores);
    multiply_transposed(values, others, weights);
    for_numbers([&](int n, int e, int row, int column) {
      float& score = scores[n].values[e];
      if (in.r_XC != nullptr)
        score += own_biases[e / 2] + bands[column].numbers[15 - column % 16 + own_first + row];
      weigh_pair(of, sums[column], {query + column, first + row}, score, weights[n].values[e]);
    });
    multiply_rounded<T>(weights, others, dv);
    multiply_rounded<T>(scores, queries, dk);
    ds_sums.add(scores);
  }
  if (in.r_XC != nullptr) tile.add_biases(ds_sums, dk);
  if (out.dqkv_FP != nullptr) store_halves_keys(of, out.dqkv_FP, first, dk, dv);
}

}  // namespace

template <class T>
void launch_halves_keys_backward(CudaStream& stream, const Grid& grid, const AttentionInput<T>& in,
                                 const AttentionOutputs<T>& out) {
  with_width(in.width, [&]<int kWidth>(std::integral_constant<int, kWidth>) {
    launch(stream.handle(), grid, keys_backward_halves<T, kWidth>, in, out);
  });
}

#define FOR_TYPE(T)                                                                             \
  template void launch_halves_keys_backward(CudaStream&, const Grid&, const AttentionInput<T>&, \
                                            const AttentionOutputs<T>&);
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
#undef FOR_TYPE

}  // namespace penstock::layers::cuda
