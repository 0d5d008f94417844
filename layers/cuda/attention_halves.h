#pragma once

#include <type_traits>

#include "layers/cuda/cuda_stream.h"
#include "layers/cuda/halves_products.h"
#include "layers/cuda/launch.h"

namespace penstock::layers::cuda {

// Attention in f16 and bf16 on tensor cores. A block owns kHalvesTile = 64 rows of one head, 16 for
// each of its four warps. It meets kHalvesColumns = 32 rows of the other side at a time.
//
// Relative positions take q · r from tensor cores, like q · k. fill_halves_biases() computes u · k
// and v · r beforehand in FP32, so that q + u and q + v are never rounded. The tensors' numbers
// enter products as they are, unless rotary positions rotate them, and then rounded. Weights and ds
// are rounded to the tensors' type for their own products. All sums are FP32.

inline constexpr int kDistanceBlocks = kHalvesColumns / 16 + 1;  // of a band of 16 rows
inline constexpr int kTileBlocks = kHalvesTile / 16 + 1;         // of a band with a whole tile
inline constexpr int kColumnTiles = kHalvesColumns / 8;
/// Distances between two tiles, plus one.
inline constexpr int kHalvesBandRows = kHalvesTile + kHalvesColumns;

/// Returns u · k of frame j, or 0 if there is no such frame or there are no relative positions.
template <class T>
__device__ float key_bias(const AttentionHead<T>& of, std::int64_t j) {
  if (of.in.r_XC == nullptr || j < 0 || j >= of.tile.frames) return 0;
  return of.in.key_biases_HF[of.head * of.in.rows + of.tile.utterance_row + j];
}
/// Returns v · r of row x of r, or 0 if there is none.
template <class T>
__device__ float distance_bias(const AttentionHead<T>& of, std::int64_t x) {
  const std::int64_t distances = 2 * of.in.longest - 1;
  if (of.in.r_XC == nullptr || x < 0 || x >= distances) return 0;
  return of.in.distance_biases_HX[of.head * distances + x];
}

/// Sets to[i] = value(i) for i < count. The block's threads share the work.
template <class Value>
__device__ void fill(float* to, int count, Value value) {
  for (int i = thread_x(); i < count; i += block_threads()) to[i] = value(i);
}

/// Calls body(n, e, row, column) for each number that the lane holds of a product of 16 ×
/// kHalvesColumns: values[e] of tile n.
template <class Body>
__device__ void for_numbers(Body body) {
  UNROLLED for (int n = 0; n < kColumnTiles; ++n) {
    UNROLLED for (int e = 0; e < 4; ++e)
        body(n, e, FragmentC::row(e), 8 * n + FragmentC::column(e));
  }
}

/// Log-sum-exp log Σ e^s of a query, and its delta = dy · y.
struct QuerySums {
  float log_sum, through;
};

/// Returns the sums of query i, or zeros if the utterance has no such frame.
template <class T>
__device__ QuerySums query_sums(const AttentionHead<T>& of, const float* through_sums_HF,
                                std::int64_t i) {
  if (i >= of.tile.frames) return {};
  return {*of.log_sum(i), through_sums_HF[of.head * of.in.rows + of.tile.utterance_row + i]};
}

/// Query i and key j, as frames of their utterance.
struct QueryKey {
  std::int64_t i, j;
};

/// Replaces the unscaled score (`product`) and dp (`d_weight`) of a pair. `product` becomes ds,
/// without the scale, and `d_weight` becomes the weight after dropout that multiplied v.
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

/// Stores a lane's numbers of a pair of channels. If `to` is rotated, they are gradients of a
/// rotated pair and are rotated back first.
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

/// Stores the warp's 16 rows of sums from row `first` on, each times the lane's factor for that
/// row.
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

/// Calls body(number) with the smallest compiled width that holds `channels`, passed as a type.
/// Zeros fill the channels that are left.
template <class Body>
void with_width(int channels, Body body) {
  if (channels <= 64)
    body(std::integral_constant<int, 64>{});
  else if (channels <= 80)
    body(std::integral_constant<int, 80>{});
  else
    body(std::integral_constant<int, kMostHeadChannels>{});
}

/// Combines `value` over the four lanes that hold one row of a product. Each of them gets the
/// result.
template <class Combine>
__device__ float combine_quad(float value, Combine combine) {
  value = combine(value, shuffle_xor(value, 1));
  return combine(value, shuffle_xor(value, 2));
}

}  // namespace penstock::layers::cuda
