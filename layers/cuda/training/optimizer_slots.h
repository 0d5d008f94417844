#pragma once

#include <cfloat>
#include <cstdint>

#include "layers/code_map.h"
#include "layers/cuda/core/reduce.h"
#include "layers/ops/norms.h"
#include "layers/random_rounding.h"
#include "layers/tensor/parameter_blocks.h"

namespace penstock::layers::cuda {

constexpr int kStepThreads = 256, kSlices = 8;  // kSlices blocks of threads per arena block
static_assert(kStepThreads == kCodeBlock, "a block of threads steps over a code block at a time");

/// Optimizer state of one element: mean and square, or a velocity alone.
struct Kept {
  float first = 0, second = 0;
};

/// One or two slots in f32.
template <int kSlots>
struct FullSlots {
  float *first, *second;

  __device__ Kept take_out(const ArenaBlock& block, std::int64_t i) const {
    const std::int64_t at = block.slot + i;
    if constexpr (kSlots == 1)
      return {first[at]};
    else
      return {first[at], second[at]};
  }
  __device__ void put_back(const ArenaBlock& block, std::int64_t i, const Kept& kept) const {
    const std::int64_t at = block.slot + i;
    first[at] = kept.first;
    if constexpr (kSlots == 2) second[at] = kept.second;
  }
};

/// One or two slots in bf16, with stochastic rounding (layers/random_rounding.h).
template <int kSlots>
struct HalfSlots {
  std::uint16_t *first, *second;
  RoundingBits random;

  __device__ Kept take_out(const ArenaBlock& block, std::int64_t i) const {
    const std::int64_t at = block.slot + i;
    if constexpr (kSlots == 1)
      return {from_bfloat16_bits(first[at])};
    else
      return {from_bfloat16_bits(first[at]), from_bfloat16_bits(second[at])};
  }
  __device__ void put_back(const ArenaBlock& block, std::int64_t i, const Kept& kept) const {
    const std::int64_t at = block.slot + i;
    const std::uint32_t bits = random(block.place, i);
    first[at] = round_at_random(kept.first, bits);
    if constexpr (kSlots == 2) second[at] = round_at_random(kept.second, bits >> 16);
  }
};

struct CodeSlot {
  std::uint8_t* codes = nullptr;
  float* scales = nullptr;  // one per code block
};

/// One or two slots in 8-bit codes, with a scale for each code block (layers/code_map.h).
template <int kSlots>
struct CodedSlots {
  CodeSlot slots[2] = {};
  float values[2][kCodes] = {};  // code maps
};

/// Calls body(i, block, kept) for the thread's elements of an arena block. `kept` is read from
/// FullSlots or HalfSlots before and written back after.
template <class Slots, class Body>
__device__ void for_elements(const ArenaBlock* blocks, const Slots& slots, Body body) {
  const ArenaBlock block = blocks[block_x()];
  for (std::int64_t i = block_y() * kStepThreads + thread_x(); i < block.count;
       i += kSlices * kStepThreads) {
    Kept kept = slots.take_out(block, i);
    body(i, block, kept);
    slots.put_back(block, i, kept);
  }
}

/// Shared memory of a block of threads that steps over slots in codes.
struct CodeTables {
  float (*values)[kCodes];
  float (*between)[kCodes];
  float (*of_warp)[kStepThreads / kWarp];
};

/// Fills the tables. All threads of the block must call it.
template <int kSlots>
__device__ void fill(const CodeTables& tables, const CodedSlots<kSlots>& slots) {
  const int own = thread_x();
  for (int slot = 0; slot < kSlots; ++slot) {
    const float* const values = slots.values[slot];
    tables.values[slot][own] = values[own];
    if (own + 1 < kCodes) tables.between[slot][own] = (values[own] + values[own + 1]) / 2;
  }
  __syncthreads();
}

/// Encodes a number of each thread and stores the block's scale, its max magnitude. Threads with a
/// negative `at` store no code, but all threads of the block must call it.
__device__ inline void encode(const CodeTables& tables, int slot, const CodeSlot& to,
                              std::int64_t at, std::int64_t scale, float number) {
  float largest = combine_block(fabsf(number), tables.of_warp[slot], Largest());
  if (largest > FLT_MAX) largest = FLT_MAX;
  if (thread_x() == 0) to.scales[scale] = largest;
  if (at < 0) return;
  const float share = number / (largest > 0 ? largest : 1);
  const float* const between = tables.between[slot];
  to.codes[at] = static_cast<std::uint8_t>(slot == 1 ? nearest_code_of_square(between, share)
                                                     : nearest_code(between, share));
}

/// Does the same with slots in codes. A block of threads takes a whole code block at a time,
/// because its scale is the max over all of it.
template <int kSlots, class Body>
__device__ void for_elements(const ArenaBlock* blocks, const CodedSlots<kSlots>& slots, Body body) {
  BLOCK_SHARED(float, values, [2][kCodes]);
  BLOCK_SHARED(float, between, [2][kCodes]);
  BLOCK_SHARED(float, of_warp, [2][kStepThreads / kWarp]);
  const CodeTables tables{values, between, of_warp};
  fill(tables, slots);
  const ArenaBlock block = blocks[block_x()];
  for (std::int64_t begin = block_y() * kCodeBlock; begin < block.count;
       begin += kSlices * kCodeBlock) {
    const std::int64_t i = begin + thread_x();
    const std::int64_t at = i < block.count ? block.slot + i : -1;
    const std::int64_t scale = (block.slot + begin) / kCodeBlock;
    float kept_numbers[2] = {};
    if (at >= 0) {
      for (int slot = 0; slot < kSlots; ++slot)
        kept_numbers[slot] =
            values[slot][slots.slots[slot].codes[at]] * slots.slots[slot].scales[scale];
      Kept kept{kept_numbers[0], kept_numbers[1]};
      body(i, block, kept);
      kept_numbers[0] = kept.first;
      kept_numbers[1] = kept.second;
    }
    for (int slot = 0; slot < kSlots; ++slot)
      encode(tables, slot, slots.slots[slot], at, scale, kept_numbers[slot]);
    __syncthreads();
  }
}

}  // namespace penstock::layers::cuda
