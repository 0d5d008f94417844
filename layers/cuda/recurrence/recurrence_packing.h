#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "layers/cuda/core/block.h"
#include "layers/cuda/recurrence/recurrence_sizes.h"

namespace penstock::layers::cuda {

/// A factor of the products of fused steps, in the order in which blocks read it. For each
/// direction and tile of 16 channels, it has rows · 16 numbers for each index of `inner`, which is
/// padded.
///
/// Forward it is U: a row for each gate of a channel, and `inner` runs over channels. Backward it
/// is Uᵀ: one row, and `inner` runs over gates · hidden. In f16, bf16 and TF32, slabs of 32 inner
/// indices follow each other, and each holds the rows' operands of multiply_add. In FP32, the 16 ·
/// rows numbers of an inner index are adjacent.
struct PackedFactor {
  std::int64_t hidden, inner_width;  // channels, and padded length of `inner`
  int directions, rows;

  std::int64_t tiles() const { return (hidden + kRecurrenceChannels - 1) / kRecurrenceChannels; }
  __host__ __device__ std::int64_t numbers_of_tile() const {
    return rows * kRecurrenceChannels * inner_width;
  }
  std::int64_t numbers() const { return directions * tiles() * numbers_of_tile(); }
};

/// The row, channel and inner index of a number in a tile.
struct PackedNumber {
  int row, channel;
  std::int64_t inner;
};

/// Operands of multiply_add (mma.h) in a slab. One has 32 bytes of a row, so that a slab is two
/// operands in f16 or bf16, or four in TF32.
template <class T>
inline constexpr int kSlabOperands = static_cast<int>(kRecurrenceSlab * sizeof(T) / 32);

/// Returns which number lies at `place` of a tile. A lane multiplies eight adjacent numbers of a
/// row of the other factor with each slab. The packed order gives it the same inner indices for its
/// two channels, in the registers of the slab's operands.
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

/// Packs U of every direction, with zeros as padding. Factor is T, or Tf32 for floats.
template <class T, class Factor>
PackedFactor pack_forward(cudaStream_t stream, const T* w_DGH, const RecurrenceSizes& sizes,
                          int gates, Factor* packed);
/// Packs Uᵀ in the same way.
template <class T, class Factor>
PackedFactor pack_backward(cudaStream_t stream, const T* w_DGH, const RecurrenceSizes& sizes,
                           int gates, Factor* packed);

}  // namespace penstock::layers::cuda
