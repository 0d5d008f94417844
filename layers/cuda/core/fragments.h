#pragma once

#include "layers/cuda/core/mma.h"

namespace penstock::layers::cuda {

// Loads of multiply_add's operands from a matrix of f16 or bf16 numbers in shared memory, whose
// rows begin on 16 bytes. With a pitch of 8 more than a multiple of 16 numbers, the reads of a warp
// go to different banks.

/// Rounds two floats into one register.
template <class T>
__device__ unsigned rounded_pair(float low, float high) {
  return std::bit_cast<unsigned>(HalfPair<T>{from_float<T>(low), from_float<T>(high)});
}

template <class T>
__device__ unsigned aligned_pair(const T* at) {
  return *reinterpret_cast<const unsigned*>(at);
}

/// Loads 16 rows and 16 columns from `at` on as operand a.
template <class T>
__device__ FragmentA load_a(const T* at, int pitch) {
  const T* const upper = at + FragmentC::row(0) * pitch + FragmentC::column(0);
  const T* const lower = upper + 8 * pitch;
  return {
      {aligned_pair(upper), aligned_pair(lower), aligned_pair(upper + 8), aligned_pair(lower + 8)}};
}

/// Loads the same from a matrix of floats, and rounds them.
template <class T>
__device__ FragmentA load_rounded_a(const float* at, int pitch) {
  const float* const upper = at + FragmentC::row(0) * pitch + FragmentC::column(0);
  const float* const lower = upper + 8 * pitch;
  return {{rounded_pair<T>(upper[0], upper[1]), rounded_pair<T>(lower[0], lower[1]),
           rounded_pair<T>(upper[8], upper[9]), rounded_pair<T>(lower[8], lower[9])}};
}

/// Rounds two adjacent 16 × 8 products into one operand a.
template <class T>
__device__ FragmentA rounded_a(const FragmentC& left, const FragmentC& right) {
  return {{rounded_pair<T>(left.values[0], left.values[1]),
           rounded_pair<T>(left.values[2], left.values[3]),
           rounded_pair<T>(right.values[0], right.values[1]),
           rounded_pair<T>(right.values[2], right.values[3])}};
}

/// Loads 8 rows and 16 columns of memory from `at` on as the transposed operand b: rows of memory
/// are columns of b.
template <class T>
__device__ FragmentB load_transposed_b(const T* at, int pitch) {
  const T* const row = at + FragmentC::row(0) * pitch + FragmentC::column(0);
  return {{aligned_pair(row), aligned_pair(row + 8)}};
}

/// Loads 16 rows and 8 columns from `at` on as operand b.
template <class T>
__device__ FragmentB load_b(const T* at, int pitch) {
  const T* const column = at + FragmentC::column(0) * pitch + FragmentC::row(0);
  const auto pair = [&](int row) {
    return std::bit_cast<unsigned>(HalfPair<T>{column[row * pitch], column[(row + 1) * pitch]});
  };
  return {{pair(0), pair(8)}};
}

}  // namespace penstock::layers::cuda
