#pragma once

#include <bit>
#include <type_traits>

#include "layers/cuda/core/mma.h"
#include "layers/cuda/recurrence/recurrence_packing.h"

namespace penstock::layers::cuda {

// The product in a block of a fused step: `kRows` rows of each of 16 channels, summed over all of
// the inner index, for kTiles · 8 utterances. The inner index is divided into slices, whose sums
// threads keep in registers. The slices are then added in their order, so that the order of every
// sum is fixed.

inline constexpr int kRecurrenceThreads = 256;

/// The other factor: a row of `width` numbers for each utterance, which is padded.
template <class T>
struct InnerRows {
  const T* first;
  std::int64_t width;
};

/// Rounds four floats to TF32 for tensor cores.
__device__ inline uint4 in_tf32(const uint4& floats) {
  const auto rounded = [](unsigned bits) {
    return from_float<Tf32>(std::bit_cast<float>(bits)).bits;
  };
  return {rounded(floats.x), rounded(floats.y), rounded(floats.z), rounded(floats.w)};
}

/// A lane's part of a slab of one utterance: eight numbers, two registers for each operand.
template <class Factor>
struct SlabColumn {
  uint4 words[kSlabOperands<Factor> / 2];

  template <class T>
  __device__ void load(const T* from) {
    UNROLLED for (int i = 0; i < kSlabOperands<Factor> / 2; ++i) {
      words[i] = reinterpret_cast<const uint4*>(from)[i];
      if constexpr (!std::is_same_v<T, Factor>) words[i] = in_tf32(words[i]);
    }
  }
  __device__ FragmentB operand(int i) const {
    const uint4& four = words[i / 2];
    return i % 2 == 0 ? FragmentB{{four.x, four.y}} : FragmentB{{four.z, four.w}};
  }
};

/// Sums by tensor cores. Each warp is a slice and takes every eighth slab.
template <class Factor, int kRows, int kTiles>
struct SlicedSums {
  static constexpr int kSlices = kRecurrenceThreads / kWarp;
  FragmentC sums[kRows][kTiles];

  template <class T>
  __device__ void add(const Factor* factor, const InnerRows<T>& by) {
    constexpr int kOperands = kSlabOperands<Factor>;
    const int lane = thread_x() % kWarp;
    const auto* const operands = reinterpret_cast<const uint4*>(factor) + lane;
    const T* const column = by.first + lane / 4 * by.width + lane % 4 * 8;
    for (std::int64_t slab = slice(); slab < by.width / kRecurrenceSlab; slab += kSlices) {
      SlabColumn<Factor> b[kTiles];
      UNROLLED for (int n = 0; n < kTiles; ++n) b[n].load(
          column + n * kRecurrenceUtterances * by.width + slab * kRecurrenceSlab);
      UNROLLED for (int i = 0; i < kRows * kOperands; ++i) {
        const uint4 a = operands[(slab * kRows * kOperands + i) * kWarp];
        UNROLLED for (int n = 0; n < kTiles; ++n) multiply_add<Factor>(
            {{a.x, a.y, a.z, a.w}}, b[n].operand(i % kOperands), sums[i / kOperands][n]);
      }
    }
  }

  /// Passes the sums of a tile to leave(row · 16 + channel, utterance, sum).
  template <class Leave>
  __device__ void of_tile(int tile, const Leave& leave) const {
    UNROLLED for (int n = 0; n < kTiles; ++n) {
      if (n != tile) continue;  // a constant index keeps sums in registers
      UNROLLED for (int row = 0; row < kRows; ++row) UNROLLED for (int e = 0; e < 4; ++e)
          leave(row * 16 + FragmentC::row(e), FragmentC::column(e), sums[row][n].values[e]);
    }
  }

  __device__ static int slice() { return thread_x() / kWarp; }
};

/// Sums by FMA. Each thread has one row of one channel, and one slice: every kSlices-th inner
/// index. The block stages kStaged inner indices of all utterances in shared memory at a time.
template <int kRows, int kTiles>
struct SlicedSums<float, kRows, kTiles> {
  static constexpr int kFactorRows = kRows * 16, kSlices = kRecurrenceThreads / kFactorRows,
                       kUtterances = kTiles * 8, kStaged = 64;
  float sums[kUtterances] = {};

  __device__ void add(const float* factor, const InnerRows<float>& by) {
    BLOCK_SHARED(float, staged, [kStaged][kUtterances]);
    for (std::int64_t first = 0; first < by.width; first += kStaged) {
      const int count = static_cast<int>(by.width - first < kStaged ? by.width - first : kStaged);
      __syncthreads();
      for (int i = thread_x(); i < count * kUtterances; i += kRecurrenceThreads)
        staged[i % count][i / count] = by.first[i / count * by.width + first + i % count];
      __syncthreads();
      if (slice() >= kSlices) continue;  // 3 rows leave 16 threads without work
      for (int k = slice(); k < count; k += kSlices) {
        const float w = factor[(first + k) * kFactorRows + thread_x() % kFactorRows];
        UNROLLED for (int n = 0; n < kUtterances; ++n) sums[n] += w * staged[k][n];
      }
    }
  }

  template <class Leave>
  __device__ void of_tile(int tile, const Leave& leave) const {
    if (slice() >= kSlices) return;
    UNROLLED for (int n = 0; n < kUtterances; ++n) {
      if (n / 8 == tile) leave(thread_x() % kFactorRows, n % 8, sums[n]);
    }
  }

  __device__ static int slice() { return thread_x() / kFactorRows; }
};

/// Calls each(utterance, channel, sums of its rows) for the block's channels and utterances, after
/// it has added the slices through shared memory. All threads of the block must call it.
template <class Factor, int kRows, int kTiles, class Each>
__device__ void for_each_sum(const SlicedSums<Factor, kRows, kTiles>& of, const Each& each) {
  using Sums = SlicedSums<Factor, kRows, kTiles>;
  constexpr int kTogether = kTiles == 1 ? 1 : 2, kPitch = 8 * kTogether + 1;
  BLOCK_SHARED(float, partial, [Sums::kSlices][kRows * 16][kPitch]);
  for (int first = 0; first < kTiles; first += kTogether) {
    UNROLLED for (int n = 0; n < kTogether; ++n)
        of.of_tile(first + n, [&](int row, int utterance, float sum) {
          partial[Sums::slice()][row][n * 8 + utterance] = sum;
        });
    __syncthreads();
    const int channel = thread_x() % 16, utterance = thread_x() / 16;
    if (utterance < 8 * kTogether) {
      float rows[kRows] = {};
      UNROLLED for (int row = 0; row < kRows; ++row) for (int s = 0; s < Sums::kSlices; ++s)
          rows[row] += partial[s][row * 16 + channel][utterance];
      each(first * 8 + utterance, channel, rows);
    }
    __syncthreads();
  }
}

}  // namespace penstock::layers::cuda
