#pragma once

#include <bit>

namespace emulated_cuda {

inline constexpr unsigned kDroppedByTf32 = 0x1fff;  // of a float's bits

/// What tensor cores see of a register in TF32.
inline float seen_in_tf32(unsigned bits) { return std::bit_cast<float>(bits & ~kDroppedByTf32); }

/// As cuBLASLt and cuDNN hand FP32 numbers to tensor cores here: to nearest, ties away from zero.
inline float rounded_to_tf32(float value) {
  return value - value == 0
             ? seen_in_tf32(std::bit_cast<unsigned>(value) + (kDroppedByTf32 + 1) / 2)
             : value;  // infinite, or not a number
}

}  // namespace emulated_cuda
