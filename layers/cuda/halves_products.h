#pragma once

#include "layers/cuda/halves_rows.h"

namespace penstock::layers::cuda {

// Products of a warp's 16 rows on tensor cores, in steps of 16 columns and chunks of 16 rows.

__device__ inline int warp_of_block() { return thread_x() / kWarp; }

/// 16 rows in shared memory, as an operand.
template <class T, int kWidth>
struct SharedRows {
  const HalvesRow<T, kWidth>* rows;

  __device__ FragmentA step(int k) const {
    return load_a(rows->numbers + 16 * k, HalvesRow<T, kWidth>::kPitch);
  }
};

/// 16 rows of a warp in registers, as an operand.
template <class T, int kWidth>
struct OwnRows {
  FragmentA steps[kWidth / 16];

  __device__ explicit OwnRows(const HalvesRow<T, kWidth>* rows) {
    const SharedRows<T, kWidth> from{rows};
    UNROLLED for (int k = 0; k < kWidth / 16; ++k) steps[k] = from.step(k);
  }
  __device__ FragmentA step(int k) const { return steps[k]; }
};

/// Adds own · rowsᵀ to c. Each tile of c takes 8 rows.
template <class T, int kWidth, class Own, int kTiles>
__device__ void multiply_transposed(const Own& own, const HalvesRow<T, kWidth>* rows,
                                    FragmentC (&c)[kTiles]) {
  UNROLLED for (int k = 0; k < kWidth / 16; ++k) {
    const FragmentA a = own.step(k);
    UNROLLED for (int n = 0; n < kTiles; ++n) {
      const T* const columns = rows[8 * n].numbers + 16 * k;
      multiply_add<T>(a, load_transposed_b(columns, HalvesRow<T, kWidth>::kPitch), c[n]);
    }
  }
}

/// Adds weights · rows to c, for a chunk of 16 columns of the weights.
template <class T, int kWidth>
__device__ void multiply_chunk(const FragmentA& weights, const HalvesRow<T, kWidth>* rows,
                               FragmentC (&c)[kWidth / 8]) {
  UNROLLED for (int n = 0; n < kWidth / 8; ++n) {
    const FragmentB b = load_b(rows->numbers + 8 * n, HalvesRow<T, kWidth>::kPitch);
    multiply_add<T>(weights, b, c[n]);
  }
}

/// Adds weights · rows to c, with the weights rounded to T.
template <class T, int kWidth, int kTiles>
__device__ void multiply_rounded(const FragmentC (&weights)[kTiles],
                                 const HalvesRow<T, kWidth>* rows, FragmentC (&c)[kWidth / 8]) {
  UNROLLED for (int chunk = 0; chunk < kTiles / 2; ++chunk) {
    const FragmentA a = rounded_a<T>(weights[2 * chunk], weights[2 * chunk + 1]);
    multiply_chunk(a, rows + 16 * chunk, c);
  }
}

/// One row of a band: its products with kBlocks · 16 consecutive rows of the other side. Attention
/// with relative positions reads some of them, from a column that depends on the row. That is the
/// relative shift of Transformer-XL (Dai et al. 2019).
template <int kBlocks>
struct BandRow {
  static constexpr int kPitch = 16 * kBlocks + 4;
  float numbers[kPitch];
};

/// Computes 16 columns of the band of `own` with `rows`, block `block`, and adds each column's
/// bias.
template <class T, int kWidth, class Own, int kBlocks>
__device__ void fill_band_block(const Own& own, const HalvesRow<T, kWidth>* rows,
                                const float* biases, int block, BandRow<kBlocks>* band) {
  FragmentC c[2];
  UNROLLED for (int n = 0; n < 2; ++n) UNROLLED for (int e = 0; e < 4; ++e) c[n].values[e] =
      biases[16 * block + 8 * n + FragmentC::column(e)];
  multiply_transposed(own, rows + 16 * block, c);
  UNROLLED for (int n = 0; n < 2; ++n) UNROLLED for (int e = 0; e < 4; ++e) band[FragmentC::row(e)]
      .numbers[16 * block + 8 * n + FragmentC::column(e)] = c[n].values[e];
}

/// Computes the bands of kHalvesColumns rows of shared memory, 16 at a time. The rows from 16 ·
/// chunk on meet `others` from first(chunk) on. The block's warps share the work.
template <class T, int kWidth, int kBlocks, class First>
__device__ void fill_bands(const HalvesRow<T, kWidth>* rows, const HalvesRow<T, kWidth>* others,
                           const float* biases, First first, BandRow<kBlocks>* bands) {
  const int warps = block_threads() / kWarp;
  for (int i = warp_of_block(); i < kHalvesColumns / 16 * kBlocks; i += warps) {
    const int chunk = i / kBlocks, from = first(chunk);
    fill_band_block(SharedRows<T, kWidth>{rows + 16 * chunk}, others + from, biases + from,
                    i % kBlocks, bands + 16 * chunk);
  }
}

}  // namespace penstock::layers::cuda
