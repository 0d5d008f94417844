#include "layers/cuda/attention_halves_launch.h"
#include "layers/cuda/halves_sums.h"

namespace penstock::layers::cuda {
namespace {

/// The shared memory of a block that owns kHalvesTile distances, from row `x` of r on, while
/// queries pass by. Row x of r is distance longest - 1 - x, so that query i meets key i - (longest
/// - 1 - x). kHalvesColumns queries meet at most kHalvesBandRows keys at these distances. The bands
/// hold the products of q with those keys, and then those of dy with their values.
template <class T, int kWidth>
struct DistanceTile {
  const AttentionInput<T>& in;
  const AttentionOutputs<T>& out;
  std::int64_t x;
  HalvesRow<T, kWidth>* queries;  // or dy
  HalvesRow<T, kWidth>* others;   // k or v
  BandRow<kTileBlocks>* bands;
  float* biases;
  QuerySums* sums;

  /// Loads the warp's 16 rows of r into registers. All threads of the block must call it.
  __device__ OwnRows<T, kWidth> own(const AttentionHead<T>& of) const {
    sync_block();
    load_rows(in, distance_rows(of), x, kHalvesTile, others);
    sync_block();
    return OwnRows<T, kWidth>(others + 16 * warp_of_block());
  }
  __device__ std::int64_t first_key(std::int64_t query) const {
    return query - (in.longest - 1 - x);
  }
  /// Returns true if the window and the utterance allow a pair of these queries at one of the
  /// tile's distances.
  __device__ bool meets(const AttentionHead<T>& of, std::int64_t query) const {
    const std::int64_t largest = in.longest - 1 - x, smallest = largest - (kHalvesTile - 1);
    return smallest <= in.left && largest >= -in.right && first_key(query) < of.tile.frames &&
           first_key(query) + kHalvesBandRows > 0;
  }
  /// Fills the bands with products of q or dy with k or v. All threads of the block must call it.
  __device__ void load(const AttentionHead<T>& of, const HeadRows<const T>& rows,
                       AttentionPart part, std::int64_t query) const {
    const std::int64_t key = first_key(query);
    sync_block();
    load_rows(in, rows, query, kHalvesColumns, queries);
    load_rows(in, part_rows(of, part), key, kHalvesBandRows, others);
    fill(biases, kHalvesBandRows,
         [&](int r) { return part == AttentionPart::key ? key_bias(of, key + r) : 0; });
    sync_block();
    fill_bands(
        queries, others, biases, [](int chunk) { return 16 * chunk; }, bands);
    sync_block();
  }
  /// Adds the band's numbers at the warp's 16 distances to `products`, whose rows are distances.
  __device__ void add_bands(FragmentC (&products)[kColumnTiles]) const {
    for_numbers([&](int n, int e, int row, int column) {
      products[n].values[e] += bands[column].numbers[column % 16 + 16 * warp_of_block() + row];
    });
  }
  /// Computes ds of the pairs of the warp's distances with the queries from `query` on.
  __device__ void differentiate(const AttentionHead<T>& of, std::int64_t query,
                                const OwnRows<T, kWidth>& distances, const float (&own_biases)[2],
                                FragmentC (&ds)[kColumnTiles]) const {
    const auto queries_of = part_rows(of, AttentionPart::query);
    load(of, queries_of, AttentionPart::key, query);
    multiply_transposed(distances, queries, ds);
    add_bands(ds);
    load_query_sums(of, out.through_sums_HF, query, sums);
    load(of, output_rows(of, out.dy_FC), AttentionPart::value, query);
    FragmentC weights[kColumnTiles];
    add_bands(weights);
    const std::int64_t key = first_key(query) + 16 * warp_of_block();
    for_numbers([&](int n, int e, int row, int column) {
      ds[n].values[e] += own_biases[e / 2];
      weigh_pair(of, sums[column], {query + column, key + column + row}, ds[n].values[e],
                 weights[n].values[e]);
    });
    load_rows(in, queries_of, query, kHalvesColumns, queries);
    sync_block();
  }
};

/// Computes dr of a tile of distances, and the tile's share of dv. Block (tile of distances, head);
/// each warp owns 16 distances, the rows of its scores, whose columns are queries.
///
/// The block loops over all query tiles of the micro-batch in a fixed order and skips those that no
/// pair at its distances touches. So dr needs no atomic additions.
template <class T, int kWidth>
__global__ void distances_backward_halves(AttentionInput<T> in, AttentionOutputs<T> out,
                                          HalvesDistanceGradients to) {
  using Row = HalvesRow<T, kWidth>;
  BLOCK_SHARED(Row, queries, [kHalvesColumns]);
  BLOCK_SHARED(Row, others, [kHalvesBandRows]);
  BLOCK_SHARED(BandRow<kTileBlocks>, bands, [kHalvesColumns]);
  BLOCK_SHARED(float, biases, [kHalvesBandRows]);
  BLOCK_SHARED(QuerySums, sums, [kHalvesColumns]);
  const int head = static_cast<int>(block_y()), own_first = 16 * warp_of_block();
  const std::int64_t x = block_x() * kHalvesTile;
  const AttentionHead<T> any{in, in.tiles[0], head};
  const DistanceTile<T, kWidth> tile{in, out, x, queries, others, bands, biases, sums};
  const OwnRows<T, kWidth> distances = tile.own(any);
  const float own_biases[2] = {distance_bias(any, x + own_first + FragmentC::row(0)),
                               distance_bias(any, x + own_first + FragmentC::row(2))};
  FragmentC dr[kWidth / 8];
  GradientSums ds_sums;
  for (std::int64_t i = 0; i < to.tile_count; ++i) {
    const AttentionHead<T> of{in, in.tiles[i], head};
    for (int column = 0; column < kHalvesTile; column += kHalvesColumns) {
      const std::int64_t query = of.tile.first + column;
      if (query >= of.tile.frames || !tile.meets(of, query)) continue;
      FragmentC ds[kColumnTiles];
      tile.differentiate(of, query, distances, own_biases, ds);
      multiply_rounded<T>(ds, queries, dr);
      ds_sums.add(ds);
    }
  }
  ds_sums.combine();
  ds_sums.add_bias(in.v_C + head * in.width, in.width, dr);
  tile.own(any);
  ds_sums.store(biases);
  sync_block();
  const std::int64_t channel = head * in.width;
  store_bias_share(in, others, biases, to.dv_shares + block_x() * in.channels + channel);
  const HeadRows<float> rows{to.dr_XC + channel, in.channels, 2 * in.longest - 1};
  store_sums(in, rows, x + own_first, dr, {in.scale, in.scale});
}

}  // namespace

template <class T>
void launch_halves_distances_backward(CudaStream& stream, const Grid& grid,
                                      const AttentionInput<T>& in, const AttentionOutputs<T>& out,
                                      const HalvesDistanceGradients& to) {
  with_width(in.width, [&]<int kWidth>(std::integral_constant<int, kWidth>) {
    launch(stream.handle(), grid, distances_backward_halves<T, kWidth>, in, out, to);
  });
}

#define FOR_TYPE(T)                                                                   \
  template void launch_halves_distances_backward(                                     \
      CudaStream&, const Grid&, const AttentionInput<T>&, const AttentionOutputs<T>&, \
      const HalvesDistanceGradients&);
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
#undef FOR_TYPE

}  // namespace penstock::layers::cuda
