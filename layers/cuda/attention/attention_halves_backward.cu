#include "layers/cuda/attention/attention_halves.h"
#include "layers/cuda/attention/attention_halves_launch.h"

namespace penstock::layers::cuda {
namespace {

/// Computes dq of a tile's frames as in FlashAttention-2: it recomputes the weights from the saved
/// log-sum-exp, and ds from them and delta. Block (tile, head); each warp owns 16 queries.
///
/// q and dy stay in registers as operands. The 64 × 32 scores, ds and dq are accumulators, so that
/// ds needs no shared memory to multiply k. Static shared memory is 47.5 KiB at width 128.
template <class T, int kWidth>
__global__ void queries_backward_halves(AttentionInput<T> in, AttentionOutputs<T> out) {
  using Row = HalvesRow<T, kWidth>;
  BLOCK_SHARED(Row, keys, [kHalvesColumns]);
  BLOCK_SHARED(Row, others, [kHalvesBandRows]);  // q, dy, then v and r
  BLOCK_SHARED(BandRow<kDistanceBlocks>, bands, [kHalvesTile]);
  BLOCK_SHARED(float, key_biases, [kHalvesColumns]);
  BLOCK_SHARED(float, distance_biases, [kHalvesBandRows]);
  const AttentionHead<T> of{in, in.tiles[block_x()], static_cast<int>(block_y())};
  const int own_first = 16 * warp_of_block();
  const std::int64_t first = of.tile.first;
  const QueryPositions<T, kWidth> positions{others, bands + own_first, key_biases, distance_biases};
  load_rows(in, part_rows(of, AttentionPart::query), first, kHalvesTile, others);
  __syncthreads();
  const OwnRows<T, kWidth> queries(others + own_first);
  __syncthreads();
  load_rows(in, output_rows(of, out.dy_FC), first, kHalvesTile, others);
  __syncthreads();
  const OwnRows<T, kWidth> gradients(others + own_first);
  const QuerySums sums[2] = {query_sums(of, out.delta_HF, first + own_first + FragmentC::row(0)),
                             query_sums(of, out.delta_HF, first + own_first + FragmentC::row(2))};
  FragmentC dq[kWidth / 8];
  const TileRange seen = keys_seen_by(in, of.tile, {kHalvesTile, kHalvesColumns});
  for (std::int64_t key = seen.first; key < seen.end; key += kHalvesColumns) {
    __syncthreads();
    load_rows(in, part_rows(of, AttentionPart::key), key, kHalvesColumns, keys);
    load_rows(in, part_rows(of, AttentionPart::value), key, kHalvesColumns, others);
    __syncthreads();
    FragmentC scores[kColumnTiles], weights[kColumnTiles];
    multiply_transposed(gradients, others, weights);
    multiply_transposed(queries, keys, scores);
    if (in.r_XC != nullptr) {
      __syncthreads();
      positions.load(of, key);
      __syncthreads();
      positions.add(queries, scores);
    }
    for_numbers([&](int n, int e, int row, int column) {
      score_gradient_pair(of, sums[e / 2], {first + own_first + row, key + column},
                          scores[n].values[e], weights[n].values[e]);
    });
    multiply_rounded<T>(scores, keys, dq);
    if (in.r_XC != nullptr) positions.multiply(scores, dq);
  }
  const HeadRows<T> to{out.dqkv_FP + of.element(0, AttentionPart::query), in.columns(),
                       of.tile.frames, in.cosines != nullptr};
  store_sums(in, to, first + own_first, dq, {in.scale, in.scale});
}

}  // namespace

template <class T>
void launch_halves_queries_backward(CudaStream& stream, const Grid& grid,
                                    const AttentionInput<T>& in, const AttentionOutputs<T>& out) {
  with_width(in.width, [&]<int kWidth>(std::integral_constant<int, kWidth>) {
    launch(stream.handle(), grid, queries_backward_halves<T, kWidth>, in, out);
  });
}

namespace {

/// Stores dk, rotated back, and dv of the warp's frames from `first` on.
template <class T, int kTiles>
__device__ void store_halves_keys(const AttentionHead<T>& of, T* dqkv_FP, std::int64_t first,
                                  const FragmentC (&dk)[kTiles], const FragmentC (&dv)[kTiles]) {
  const auto& in = of.in;
  HeadRows<T> to{dqkv_FP + of.element(0, AttentionPart::key), in.columns(), of.tile.frames,
                 in.cosines != nullptr};
  store_sums(in, to, first, dk, {in.scale, in.scale});
  to.first += in.key_channels();
  to.rotated = false;
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
    __syncthreads();
    load_rows(of.in, part_rows(of, part), of.tile.first, kHalvesTile, others);
    __syncthreads();
    return OwnRows<T, kWidth>(others + 16 * warp_of_block());
  }
  /// Loads kHalvesColumns queries from `query` on, fills their bands, and then loads their dy into
  /// `others`.
  __device__ void load(std::int64_t query) const {
    const auto& in = of.in;
    __syncthreads();
    load_rows(in, part_rows(of, AttentionPart::query), query, kHalvesColumns, queries);
    load_query_sums(of, out.delta_HF, query, sums);
    if (in.r_XC != nullptr) {
      const std::int64_t x = in.longest - (query + kHalvesColumns - of.tile.first);
      load_rows(in, distance_rows(of), x, kHalvesBandRows, others);
      fill(biases, kHalvesBandRows, [&](int r) { return distance_bias(of, x + r); });
      __syncthreads();
      const auto from = [](int chunk) { return kHalvesColumns - 16 - 16 * chunk; };
      fill_bands(queries, others, biases, from, bands);
      __syncthreads();
    }
    load_rows(in, output_rows(of, out.dy_FC), query, kHalvesColumns, others);
    __syncthreads();
  }
  /// Adds Σ ds · u to dk, and stores Σ ds · k as the tile's share of du. All threads of the block
  /// must call it.
  __device__ void add_biases(GradientSums ds_sums, FragmentC (&dk)[kWidth / 8]) const {
    const auto& in = of.in;
    ds_sums.combine();
    ds_sums.add_bias(in.u_C + of.head * in.width, in.width, dk);
    own(AttentionPart::key);
    ds_sums.store(biases);
    __syncthreads();
    store_bias_share(in, others, biases,
                     out.bias_gradients + block_x() * in.channels + of.head * in.width);
  }
};

/// Computes dk and dv of a tile's frames, and the tile's share of du, as in FlashAttention-2. Block
/// (tile, head of k); each warp owns 16 keys, the rows of its scores, whose columns are queries.
/// The heads of q that share the head of k pass by one after the other.
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
  AttentionHead<T> of{in, in.tiles[block_x()], static_cast<int>(block_y()) * in.group};
  const KeyTile<T, kWidth> tile{of, out, queries, others, bands, biases, sums};
  const int own_first = 16 * warp_of_block();
  const std::int64_t first = of.tile.first + own_first;
  const OwnRows<T, kWidth> keys = tile.own(AttentionPart::key);
  const OwnRows<T, kWidth> values = tile.own(AttentionPart::value);
  const float own_biases[2] = {key_bias(of, first + FragmentC::row(0)),
                               key_bias(of, first + FragmentC::row(2))};
  FragmentC dk[kWidth / 8], dv[kWidth / 8];
  GradientSums ds_sums;
  const TileRange range = queries_seeing(in, of.tile, {kHalvesTile, kHalvesColumns});
  for (const int end = of.head + in.group;; ++of.head) {
    for (std::int64_t query = range.first; query < range.end; query += kHalvesColumns) {
      tile.load(query);
      FragmentC scores[kColumnTiles], weights[kColumnTiles];
      multiply_transposed(keys, queries, scores);
      multiply_transposed(values, others, weights);
      for_numbers([&](int n, int e, int row, int column) {
        float& score = scores[n].values[e];
        if (in.r_XC != nullptr)
          score += own_biases[e / 2] + bands[column].numbers[15 - column % 16 + own_first + row];
        score_gradient_pair(of, sums[column], {query + column, first + row}, score,
                            weights[n].values[e]);
      });
      multiply_rounded<T>(weights, others, dv);
      multiply_rounded<T>(scores, queries, dk);
      ds_sums.add(scores);
    }
    if (of.head + 1 == end) break;
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
    __syncthreads();
    load_rows(in, distance_rows(of), x, kHalvesTile, others);
    __syncthreads();
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
    __syncthreads();
    load_rows(in, rows, query, kHalvesColumns, queries);
    load_rows(in, part_rows(of, part), key, kHalvesBandRows, others);
    fill(biases, kHalvesBandRows,
         [&](int r) { return part == AttentionPart::key ? key_bias(of, key + r) : 0; });
    __syncthreads();
    fill_bands(
        queries, others, biases, [](int chunk) { return 16 * chunk; }, bands);
    __syncthreads();
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
    load_query_sums(of, out.delta_HF, query, sums);
    load(of, output_rows(of, out.dy_FC), AttentionPart::value, query);
    FragmentC weights[kColumnTiles];
    add_bands(weights);
    const std::int64_t key = first_key(query) + 16 * warp_of_block();
    for_numbers([&](int n, int e, int row, int column) {
      ds[n].values[e] += own_biases[e / 2];
      score_gradient_pair(of, sums[column], {query + column, key + column + row}, ds[n].values[e],
                          weights[n].values[e]);
    });
    load_rows(in, queries_of, query, kHalvesColumns, queries);
    __syncthreads();
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
  __syncthreads();
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

#define FOR_TYPE(T)                                                                                \
  template void launch_halves_queries_backward(CudaStream&, const Grid&, const AttentionInput<T>&, \
                                               const AttentionOutputs<T>&);                        \
  template void launch_halves_keys_backward(CudaStream&, const Grid&, const AttentionInput<T>&,    \
                                            const AttentionOutputs<T>&);                           \
  template void launch_halves_distances_backward(                                                  \
      CudaStream&, const Grid&, const AttentionInput<T>&, const AttentionOutputs<T>&,              \
      const HalvesDistanceGradients&);
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
#undef FOR_TYPE

}  // namespace penstock::layers::cuda
