#pragma once

#include "layers/cuda/attention/attention_tile.h"
#include "layers/cuda/core/fragments.h"

namespace penstock::layers::cuda {

// Rows of a head in shared memory, as operands of tensor cores: f16 or bf16, with zeros after the
// head's channels.

/// One such row. Its pitch of 8 more numbers puts the reads of a warp into different banks.
template <class T, int kWidth>
struct alignas(16) HalvesRow {
  static constexpr int kPitch = kWidth + 8;
  T numbers[kPitch];
};

/// One head's numbers of `count` rows in device memory.
template <class T>
struct HeadRows {
  T* first;
  std::int64_t pitch, count;
  bool rotated = false;  // rotated by rotary positions
};

/// Returns the head's rows of q, k or v.
template <class T>
__device__ HeadRows<const T> part_rows(const AttentionHead<T>& of, AttentionPart part) {
  return {of.in.qkv_FP + of.element(0, part), of.in.columns(), of.tile.frames,
          of.in.cosines != nullptr && part != AttentionPart::value};
}

/// Returns the head's rows of y or dy.
template <class T>
__device__ HeadRows<const T> output_rows(const AttentionHead<T>& of, const T* from_FC) {
  return {from_FC + of.element(0, of.in.channels), of.in.channels, of.tile.frames};
}

/// Returns the head's rows of r.
template <class T>
__device__ HeadRows<const T> distance_rows(const AttentionHead<T>& of) {
  return {of.in.r_XC + of.head * of.in.width, of.in.channels, 2 * of.in.longest - 1};
}

/// Two channels that are adjacent in shared memory: neighbours, or the two that rotary positions
/// rotate together.
struct ChannelPair {
  int low, high;
};

template <class Rows>
__device__ ChannelPair channel_pair(const Rows& rows, int pair, int width) {
  return rows.rotated ? ChannelPair{pair, pair + width / 2} : ChannelPair{2 * pair, 2 * pair + 1};
}

/// Returns channel pair `pair` of a row in one register, rotated if the rows are to be.
template <class T>
__device__ unsigned pair_of_row(const AttentionInput<T>& in, const HeadRows<const T>& from,
                                std::int64_t row, int pair) {
  const ChannelPair at = channel_pair(from, pair, in.width);
  const T* const x = from.first + row * from.pitch;
  const T zero = from_float<T>(0);
  if (!from.rotated)
    return std::bit_cast<unsigned>(
        HalfPair<T>{at.low < in.width ? x[at.low] : zero, at.high < in.width ? x[at.high] : zero});
  if (pair >= in.width / 2) return 0;
  const std::int64_t angle = row * (in.width / 2) + pair;
  const float a = to_float(x[at.low]), b = to_float(x[at.high]);
  const float cosine = in.cosines[angle], sine = in.sines[angle];
  return rounded_pair<T>(a * cosine - b * sine, b * cosine + a * sine);
}

/// Returns true if eight channels can be read at once.
template <class T>
__device__ bool in_eights(const HeadRows<const T>& from, int width) {
  return !from.rotated && width % 8 == 0 && from.pitch % 8 == 0 &&
         reinterpret_cast<std::uintptr_t>(from.first) % 16 == 0;
}

/// Loads `count` rows from `first` on; rows that do not exist become zeros. The block's threads
/// share the work.
template <class T, int kWidth>
__device__ void load_rows(const AttentionInput<T>& in, const HeadRows<const T>& from,
                          std::int64_t first, int count, HalvesRow<T, kWidth>* to) {
  const auto there = [&](int row) { return first + row >= 0 && first + row < from.count; };
  if (in_eights(from, in.width)) {
    for (int i = thread_x(); i < count * (kWidth / 8); i += block_threads()) {
      const int row = i / (kWidth / 8), c = i % (kWidth / 8) * 8;
      const T* const source = from.first + (first + row) * from.pitch + c;
      *reinterpret_cast<uint4*>(&to[row].numbers[c]) =
          there(row) && c < in.width ? *reinterpret_cast<const uint4*>(source) : uint4{};
    }
    return;
  }
  for (int i = thread_x(); i < count * (kWidth / 2); i += block_threads()) {
    const int row = i / (kWidth / 2), pair = i % (kWidth / 2);
    *reinterpret_cast<unsigned*>(&to[row].numbers[2 * pair]) =
        there(row) ? pair_of_row(in, from, first + row, pair) : 0;
  }
}

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
