#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "layers/cuda/block.h"
#include "layers/cuda/sizes/recurrence.h"

namespace penstock::layers::cuda {

/// A factor of the products of fused steps, in the order in which blocks read it: for each
/// direction and tile of 16 channels, rows · 16 numbers for each of `inner`, which is padded.
/// Forward it is U: a row for each gate of a channel, over channels. Backward it is Uᵀ: one row,
/// over gates · hidden. In halves and TF32, slabs of 32 lie one after the other, of each the rows'
/// operands of multiply_add; in FP32, the 16 · rows numbers of an inner index lie beside each
/// other.
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

/// An operand of multiply_add (mma.h) has 32 bytes of a row: two operands of halves or four of TF32
/// make a slab.
template <class T>
inline constexpr int kSlabOperands = static_cast<int>(kRecurrenceSlab * sizeof(T) / 32);

/// What a lane reads of a slab is eight numbers that lie beside each other in a row of the other
/// factor: as many for each of the slab's operands, in registers, of two channels.
template <class T>
__host__ __device__ PackedNumber packed_number(const PackedFactor& of, std::int64_t place) {
  if constexpr (std::is_same_v<T, float>) {
    const int in_row = static_cast<int>(place % (of.rows * 16));
    return {in_row / 16, in_row % 16, place / (of.rows * 16)};
  } else {
    constexpr int kOperands = kSlabOperands<T>, kInRegister = 4 / sizeof(T),
                  kInLane = 4 * kInRegister;
    const int number = static_cast<int>(place % kInLane),
              lane = static_cast<int>(place / kInLane % kWarp);
    const std::int64_t operand = place / (kInLane * kWarp);
    const int in_slab = static_cast<int>(operand % kOperands), in_lane = number / kInRegister;
    return {static_cast<int>(operand / kOperands % of.rows), lane / 4 + in_lane % 2 * 8,
            operand / kOperands / of.rows * kRecurrenceSlab + lane % 4 * 8 +
                (2 * in_slab + in_lane / 2) * kInRegister + number % kInRegister};
  }
}

/// Packs U of every direction, and zeros where it ends. Factor: T, or Tf32 of floats.
template <class T, class Factor>
PackedFactor pack_forward(cudaStream_t stream, const T* w_DGH, const RecurrenceSizes& sizes,
                          int gates, Factor* packed);
/// The same of Uᵀ.
template <class T, class Factor>
PackedFactor pack_backward(cudaStream_t stream, const T* w_DGH, const RecurrenceSizes& sizes,
                           int gates, Factor* packed);

}  // namespace penstock::layers::cuda
