#pragma once

#include <type_traits>

#include "layers/cuda/attention/halves_products.h"
#include "layers/cuda/core/cuda_stream.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/reduce.h"

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
__device__ QuerySums query_sums(const AttentionHead<T>& of, const float* delta_HF, std::int64_t i) {
  if (i >= of.tile.frames) return {};
  return {*of.log_sum(i), delta_HF[of.head * of.in.rows + of.tile.utterance_row + i]};
}

/// Query i and key j, as frames of their utterance.
struct QueryKey {
  std::int64_t i, j;
};

/// Replaces the unscaled score (`product`) and dp (`d_weight`) of a pair. `product` becomes ds,
/// without the scale, and `d_weight` becomes the weight after dropout that multiplied v.
template <class T>
__device__ void score_gradient_pair(const AttentionHead<T>& of, const QuerySums& sums,
                                    const QueryKey& at, float& product, float& d_weight) {
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
  if (to.rotated && pair < in.width / 2) {
    const std::int64_t angle = row * (in.width / 2) + pair;
    const float a = low, b = high, cosine = in.cosines[angle], sine = in.sines[angle];
    low = a * cosine + b * sine;
    high = b * cosine - a * sine;
  }
  Out* const out = to.first + row * to.pitch;
  if (to.rotated && pair >= in.width / 2) return;
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
    body(std::integral_constant<int, kMaxHeadChannels>{});
}

/// Combines `value` over the four lanes that hold one row of a product. Each of them gets the
/// result.
template <class Combine>
__device__ float combine_quad(float value, Combine combine) {
  value = combine(value, shuffle_xor(value, 1));
  return combine(value, shuffle_xor(value, 2));
}

/// The shared memory for relative positions of a warp that owns 16 queries and meets kHalvesColumns
/// keys.
template <class T, int kWidth>
struct QueryPositions {
  HalvesRow<T, kWidth>* distances;  // kHalvesBandRows of r
  BandRow<kDistanceBlocks>* band;   // of the warp
  float *key_biases, *distance_biases;

  /// Loads the rows of r for the distances between the block's tile and the keys from `key` on.
  /// Also loads the biases u · k and v · r. All threads of the block must call it.
  __device__ void load(const AttentionHead<T>& of, std::int64_t key) const {
    const std::int64_t x = of.in.longest - (of.tile.first + kHalvesTile - key);
    load_rows(of.in, distance_rows(of), x, kHalvesBandRows, distances);
    fill(key_biases, kHalvesColumns, [&](int c) { return key_bias(of, key + c); });
    fill(distance_biases, kHalvesBandRows, [&](int r) { return distance_bias(of, x + r); });
  }

  /// Adds (q + v) · r and u · k to the products q · k. All lanes of the warp must call it.
  __device__ void add(const OwnRows<T, kWidth>& queries,
                      FragmentC (&products)[kColumnTiles]) const {
    for (int block = 0; block < kDistanceBlocks; ++block)
      fill_band_block(queries, distances + own(), distance_biases + own(), block, band);
    __syncwarp();
    for_numbers([&](int n, int e, int row, int column) {
      products[n].values[e] += key_biases[column] + band[row].numbers[15 - row + column];
    });
  }

  /// Adds Σ ds · r to dq. All lanes of the warp must call it, after add(), whose band it
  /// overwrites.
  __device__ void multiply(const FragmentC (&ds)[kColumnTiles], FragmentC (&dq)[kWidth / 8]) const {
    for_numbers([&](int n, int e, int row, int column) {
      band[row].numbers[15 - row + column] = ds[n].values[e];
    });
    for (int i = thread_x() % kWarp; i < 16 * 16; i += kWarp) {  // distances that no pair has
      const int row = i / 16, place = i % 16;
      band[row].numbers[place < 15 - row ? place : place + kHalvesColumns] = 0;
    }
    __syncwarp();
    for (int block = 0; block < kDistanceBlocks; ++block) {
      const float* const at = band->numbers + 16 * block;
      const FragmentA a = load_rounded_a<T>(at, BandRow<kDistanceBlocks>::kPitch);
      multiply_chunk(a, distances + own() + 16 * block, dq);
    }
  }

 private:
  /// Returns the first row of r that the warp's queries meet.
  __device__ static int own() { return kHalvesTile - 16 - 16 * warp_of_block(); }
};

/// Σ ds of a lane's two rows of scores, if rows are keys or distances. Times u or v, it is the
/// bias's part of dk or dr. Summed with k or r over the rows, it gives du or dv.
struct GradientSums {
  float values[2] = {};

  __device__ void add(const FragmentC (&ds)[kColumnTiles]) {
    for_numbers([&](int n, int e, int, int) { values[e / 2] += ds[n].values[e]; });
  }
  /// Sums over whole rows, for each lane that holds a part of them. All lanes of the warp must call
  /// it, once.
  __device__ void combine() {
    for (float& value : values) value = combine_quad(value, Sum());
  }
  /// Adds Σ ds · the head's channels of `bias` to `sums`.
  template <int kTiles>
  __device__ void add_bias(const float* bias, int width, FragmentC (&sums)[kTiles]) const {
    UNROLLED for (int n = 0; n < kTiles; ++n) {
      UNROLLED for (int e = 0; e < 4; ++e) {
        const int c = 8 * n + FragmentC::column(e);
        if (c < width) sums[n].values[e] += values[e / 2] * bias[c];
      }
    }
  }
  /// Stores one number for each of the block's rows.
  __device__ void store(float* to) const {
    if (thread_x() % 4 != 0) return;
    for (int h = 0; h < 2; ++h) to[16 * warp_of_block() + FragmentC::row(2 * h)] = values[h];
  }
};

/// Stores the scaled Σ over the block's rows of numbers[row] · rows[row], a tile's share of a
/// bias's gradient.
template <class T, int kWidth>
__device__ void store_bias_share(const AttentionInput<T>& in, const HalvesRow<T, kWidth>* rows,
                                 const float* numbers, float* to) {
  for (int c = thread_x(); c < in.width; c += block_threads()) {
    float sum = 0;
    for (int row = 0; row < kHalvesTile; ++row)
      sum += numbers[row] * to_float(rows[row].numbers[c]);
    to[c] = in.scale * sum;
  }
}

/// Loads the sums of kHalvesColumns queries from `first` on.
template <class T>
__device__ void load_query_sums(const AttentionHead<T>& of, const float* delta_HF,
                                std::int64_t first, QuerySums* to) {
  for (int c = thread_x(); c < kHalvesColumns; c += block_threads())
    to[c] = query_sums(of, delta_HF, first + c);
}

}  // namespace penstock::layers::cuda
