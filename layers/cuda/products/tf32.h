#pragma once

#include <bit>

#include "layers/cuda/core/numbers.h"

namespace penstock::layers::cuda {

/// A float as tensor cores multiply it in TF32. Its mantissa keeps 10 bits, and the others are 0.
struct Tf32 {
  unsigned bits;
};

__host__ __device__ inline float to_float(Tf32 value) { return std::bit_cast<float>(value.bits); }

/// Rounds to nearest, ties away from zero, as cvt.rna.tf32.f32 does, which GPUs before Ampere lack.
template <>
__host__ __device__ inline Tf32 from_float<Tf32>(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  Tf32 rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded.bits) : "f"(value));
  return rounded;
#else
  constexpr unsigned kExponent = 0x7f800000, kDropped = 0x1fff;
  const auto bits = std::bit_cast<unsigned>(value);
  const bool finite = (bits & kExponent) != kExponent;
  return {finite ? (bits + (kDropped + 1) / 2) & ~kDropped : bits};
#endif
}

}  // namespace penstock::layers::cuda
