#pragma once

#include "layers/cuda/attention_halves.h"
#include "layers/cuda/reduce.h"

namespace penstock::layers::cuda {

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
__device__ void load_query_sums(const AttentionHead<T>& of, const float* through_sums_HF,
                                std::int64_t first, QuerySums* to) {
  for (int c = thread_x(); c < kHalvesColumns; c += block_threads())
    to[c] = query_sums(of, through_sums_HF, first + c);
}

}  // namespace penstock::layers::cuda
