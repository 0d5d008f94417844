#pragma once

#include <cuda_runtime.h>

#include "layers/cuda/block.h"
#include "layers/cuda/sizes/recurrence.h"

namespace penstock::layers::cuda {

/// A factor of the products of fused steps, in the order in which blocks read it: for each
/// direction and tile of 16 channels, rows · 16 numbers for each of `inner`, which is padded.
/// Forward it is U: a row for each gate of a channel, over channels. Backward it is Uᵀ: one row,
/// over gates · hidden. In halves, slabs of 32 lie one after the other, of each the rows' operands
/// of multiply_add; in FP32, the 16 · rows numbers of an inner index lie beside each other.
struct PackedFactor {
  std::int64_t hidden, inner_width;  // channels, and what is summed over with its padding
  int directions, rows;

  std::int64_t tiles() const { return (hidden + kRecurrenceChannels - 1) / kRecurrenceChannels; }
  __host__ __device__ std::int64_t numbers_of_tile() const {
    return rows * kRecurrenceChannels * inner_width;
  }
  std::int64_t numbers() const { return directions * tiles() * numbers_of_tile(); }
};

/// In what place of a tile a number lies: which row of which channel, over which inner index.
struct PackedNumber {
  int row, channel;
  std::int64_t inner;
};

/// What a lane reads of a slab is eight numbers that lie beside each other in a row of the other
/// factor: four for each of the slab's two operands (mma.h), in pairs, of two channels.
template <class T>
__host__ __device__ PackedNumber packed_number(const PackedFactor& of, std::int64_t place) {
  if constexpr (sizeof(T) == sizeof(float)) {
    const int in_row = static_cast<int>(place % (of.rows * 16));
    return {in_row / 16, in_row % 16, place / (of.rows * 16)};
  } else {
    const int number = static_cast<int>(place % 8), lane = static_cast<int>(place / 8 % kWarp);
    const std::int64_t operand = place / (8 * kWarp);
    const int half = static_cast<int>(operand % 2), pair = number / 2;
    return {static_cast<int>(operand / 2 % of.rows), lane / 4 + pair % 2 * 8,
            operand / 2 / of.rows * kRecurrenceSlab + lane % 4 * 8 + half * 4 + pair / 2 * 2 +
                number % 2};
  }
}

/// Packs U of every direction, and zeros where it ends.
template <class T>
PackedFactor pack_forward(cudaStream_t stream, const T* w_DGH, const RecurrenceSizes& sizes,
                          int gates, T* packed);
/// The same of Uᵀ.
template <class T>
PackedFactor pack_backward(cudaStream_t stream, const T* w_DGH, const RecurrenceSizes& sizes,
                           int gates, T* packed);

}  // namespace penstock::layers::cuda
