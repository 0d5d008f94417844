#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "layers/cuda/core/block.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/products/tf32.h"

// A warp's products on tensor cores, c += a · b, summed in FP32. They are 16×16 by 16×8 numbers in
// f16 or bf16, or 16×8 by 8×8 numbers in TF32. Lane 4g + t holds parts of rows g and g + 8 of a and
// c, and of column g of b. See PTX ISA, mma.m16n8k16 and mma.m16n8k8.

#ifdef __CUDACC__  // else tests/emulated_cuda/emulation defines all three
__device__ inline void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                    __half) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ inline void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                    __nv_bfloat16) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
/// Multiplies in TF32. The lower 13 bits of operands are ignored.
__device__ inline void mma_m16n8k8(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

namespace penstock::layers::cuda {

/// Two f16 or bf16 numbers in one register, the one of the lower index in the lower bits.
template <class T>
struct HalfPair {
  T low, high;
};

/// Channels 2t and 2t + 1 of rows g, g + 8, then channels 2t + 8 and 2t + 9 of the same; in TF32
/// channel t, then channel t + 4.
struct FragmentA {
  unsigned registers[4];
};

/// Rows 2t and 2t + 1 of column g, then rows 2t + 8 and 2t + 9; in TF32 row t, then row t + 4.
struct FragmentB {
  unsigned registers[2];
};

/// Columns 2t and 2t + 1 of row g, then of row g + 8.
struct FragmentC {
  float values[4] = {};

  __device__ static int row(int value) { return thread_x() % kWarp / 4 + value / 2 * 8; }
  __device__ static int column(int value) { return thread_x() % 4 * 2 + value % 2; }
};

template <class T>
__device__ float dot_of_registers(unsigned a, unsigned b) {
  if constexpr (std::is_same_v<T, Tf32>) {
    return to_float(Tf32{a}) * to_float(Tf32{b});
  } else {
    const auto x = std::bit_cast<HalfPair<T>>(a), y = std::bit_cast<HalfPair<T>>(b);
    return to_float(x.low) * to_float(y.low) + to_float(x.high) * to_float(y.high);
  }
}

/// Computes c += a · b without tensor cores. Every lane of the warp must call it. It is never
/// inlined, because unrolled kernels hold hundreds of calls.
template <class T>
__device__ NEVER_INLINED void multiply_add_by_shuffles(const FragmentA& a, const FragmentB& b,
                                                       FragmentC& c) {
  const int row = thread_x() % kWarp / 4, column = FragmentC::column(0);
  for (int half = 0; half < 2; ++half) {
    for (int k = 0; k < 4; ++k) {
      const unsigned upper = shuffle(a.registers[2 * half], 4 * row + k);
      const unsigned lower = shuffle(a.registers[2 * half + 1], 4 * row + k);
      const unsigned left = shuffle(b.registers[half], 4 * column + k);
      const unsigned right = shuffle(b.registers[half], 4 * column + 4 + k);
      c.values[0] += dot_of_registers<T>(upper, left);
      c.values[1] += dot_of_registers<T>(upper, right);
      c.values[2] += dot_of_registers<T>(lower, left);
      c.values[3] += dot_of_registers<T>(lower, right);
    }
  }
}

/// Computes c += a · b. Every lane of the warp must call it. T is __half, __nv_bfloat16 or Tf32.
template <class T>
__device__ void multiply_add(const FragmentA& a, const FragmentB& b, FragmentC& c) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800  // Turing's tensor cores multiply smaller tiles
  multiply_add_by_shuffles<T>(a, b, c);
#else
  if constexpr (std::is_same_v<T, Tf32>)
    mma_m16n8k8(c.values, a.registers, b.registers);
  else
    mma_m16n8k16(c.values, a.registers, b.registers, T{});
#endif
}

}  // namespace penstock::layers::cuda
