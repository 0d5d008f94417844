#pragma once

#include <type_traits>

#include "layers/cuda/cuda_stream.h"
#include "layers/cuda/halves_products.h"
#include "layers/cuda/launch.h"

namespace penstock::layers::cuda {

// Attention in halves. A block has a warp for each 16 of its kHalvesTile rows, and takes
// kHalvesColumns others at a time. Relative positions take q · r from tensor cores, as q · k; u · k
// and v · r are made before, in FP32. So no operand but what is turned is rounded.

inline constexpr int kDistanceBlocks = kHalvesColumns / 16 + 1;  // in a band of 16 queries' own
inline constexpr int kTileBlocks = kHalvesTile / 16 + 1;         // in one with a whole tile
inline constexpr int kColumnTiles = kHalvesColumns / 8;
inline constexpr int kHalvesBandRows = kHalvesTile + kHalvesColumns;  // distances between two
                                                                      // tiles, and one

/// u · k of a frame and v · r of a distance; 0 where there is none.
template <class T>
__device__ float key_bias(const AttentionHead<T>& of, std::int64_t j) {
  if (of.in.r_XC == nullptr || j < 0 || j >= of.tile.frames) return 0;
  return of.in.key_biases_HF[of.head * of.in.rows + of.tile.utterance_row + j];
}
template <class T>
__device__ float distance_bias(const AttentionHead<T>& of, std::int64_t x) {
  const std::int64_t distances = 2 * of.in.longest - 1;
  if (of.in.r_XC == nullptr || x < 0 || x >= distances) return 0;
  return of.in.distance_biases_HX[of.head * distances + x];
}

/// value(i) of `count` numbers, one thread each.
template <class Value>
__device__ void fill(float* to, int count, Value value) {
  for (int i = thread_x(); i < count; i += block_threads()) to[i] = value(i);
}

/// body(n, e, row, column) for the lane's numbers, values[e] of tile n, of a product of 16 ×
/// kHalvesColumns.
template <class Body>
__device__ void for_numbers(Body body) {
  UNROLLED for (int n = 0; n < kColumnTiles; ++n) {
    UNROLLED for (int e = 0; e < 4; ++e)
        body(n, e, FragmentC::row(e), 8 * n + FragmentC::column(e));
  }
}

/// Of a query: log Σ e^s, and dy · y.
struct QuerySums {
  float log_sum, through;
};

template <class T>
__device__ QuerySums query_sums(const AttentionHead<T>& of, const float* through_sums_HF,
                                std::int64_t i) {
  if (i >= of.tile.frames) return {};
  return {*of.log_sum(i), through_sums_HF[of.head * of.in.rows + of.tile.utterance_row + i]};
}

/// Query i and key j.
struct QueryKey {
  std::int64_t i, j;
};

/// From q · k and dp of a pair: `product` becomes ds, and `d_weight` the weight that multiplied v.
template <class T>
__device__ void weigh_pair(const AttentionHead<T>& of, const QuerySums& sums, const QueryKey& at,
                           float& product, float& d_weight) {
  float p = 0, ds = 0;
  if (of.sees(at.i, at.j)) {
    const float weight = __expf(of.in.scale * product - sums.log_sum);
    const float factor = of.kept(at.i, at.j);
    p = weight * factor;
    ds = weight * (d_weight * factor - sums.through);
  }
  product = ds;
  d_weight = p;
}

/// A lane's numbers of a pair of channels, turned back where rotary positions turned them.
template <class T, class Out>
__device__ void store_pair(const AttentionInput<T>& in, const HeadRows<Out>& to, std::int64_t row,
                           int pair, float low, float high) {
  const ChannelPair at = channel_pair(to, pair, in.width);
  if (to.turned && pair < in.width / 2) {
    const std::int64_t angle = row * (in.width / 2) + pair;
    const float a = low, b = high, cosine = in.cosines[angle], sine = in.sines[angle];
    low = a * cosine + b * sine;
    high = b * cosine - a * sine;
  }
  Out* const out = to.first + row * to.pitch;
  if (to.turned && pair >= in.width / 2) return;
  if (at.low < in.width) out[at.low] = from_float<Out>(low);
  if (at.high < in.width) out[at.high] = from_float<Out>(high);
}

/// The warp's 16 rows of sums, from row `first` on, each times its lane's factor for that row.
template <class T, class Out, int kTiles>
__device__ void store_sums(const AttentionInput<T>& in, const HeadRows<Out>& to, std::int64_t first,
                           const FragmentC (&sums)[kTiles], const float (&factors)[2]) {
  UNROLLED for (int half = 0; half < 2; ++half) {
    const std::int64_t row = first + FragmentC::row(2 * half);
    if (row >= to.count) continue;
    UNROLLED for (int n = 0; n < kTiles; ++n) {
      const float* const values = sums[n].values + 2 * half;
      store_pair(in, to, row, 4 * n + FragmentC::column(0) / 2, values[0] * factors[half],
                 values[1] * factors[half]);
    }
  }
}

/// Calls body(number) with the least width that the kernels are made for and `channels` fit in, as
/// a type: zeros fill what is left.
template <class Body>
void with_width(int channels, Body body) {
  if (channels <= 64)
    body(std::integral_constant<int, 64>{});
  else if (channels <= 80)
    body(std::integral_constant<int, 80>{});
  else
    body(std::integral_constant<int, kMostHeadChannels>{});
}

/// `value` of the four lanes that have one row of a product, combined.
template <class Combine>
__device__ float combine_quad(float value, Combine combine) {
  value = combine(value, shuffle_xor(value, 1));
  return combine(value, shuffle_xor(value, 2));
}

}  // namespace penstock::layers::cuda
