#pragma once

#include <bit>

namespace emulated_cuda {

inline constexpr unsigned kDroppedByTf32 = 0x1fff;  // of a float's bits

/// Returns the number that tensor cores see in a register of TF32.
inline float seen_in_tf32(unsigned bits) { return std::bit_cast<float>(bits & ~kDroppedByTf32); }

/// Rounds an FP32 number as cuBLASLt and cuDNN do here for tensor cores: to nearest, ties away from
/// zero.
inline float rounded_to_tf32(float value) {
  return value - value == 0
             ? seen_in_tf32(std::bit_cast<unsigned>(value) + (kDroppedByTf32 + 1) / 2)
             : value;  // infinite, or not a number
}

}  // namespace emulated_cuda
