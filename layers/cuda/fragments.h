#pragma once

#include "layers/cuda/mma.h"

namespace penstock::layers::cuda {

// Operands of multiply_add, from a matrix of halves in shared memory whose rows begin on 16 bytes.
// A pitch of 8 more than a multiple of 16 halves puts what a warp reads at once into different
// banks.

template <class T>
__device__ unsigned rounded_pair(float low, float high) {
  return std::bit_cast<unsigned>(HalfPair<T>{from_float<T>(low), from_float<T>(high)});
}

template <class T>
__device__ unsigned aligned_pair(const T* at) {
  return *reinterpret_cast<const unsigned*>(at);
}

/// 16 rows and 16 columns from `at` on.
template <class T>
__device__ FragmentA load_a(const T* at, int pitch) {
  const T* const upper = at + FragmentC::row(0) * pitch + FragmentC::column(0);
  const T* const lower = upper + 8 * pitch;
  return {
      {aligned_pair(upper), aligned_pair(lower), aligned_pair(upper + 8), aligned_pair(lower + 8)}};
}

/// The same of a matrix of floats, rounded.
template <class T>
__device__ FragmentA load_rounded_a(const float* at, int pitch) {
  const float* const upper = at + FragmentC::row(0) * pitch + FragmentC::column(0);
  const float* const lower = upper + 8 * pitch;
  return {{rounded_pair<T>(upper[0], upper[1]), rounded_pair<T>(lower[0], lower[1]),
           rounded_pair<T>(upper[8], upper[9]), rounded_pair<T>(lower[8], lower[9])}};
}

/// Two products beside each other as an operand, rounded.
template <class T>
__device__ FragmentA rounded_a(const FragmentC& left, const FragmentC& right) {
  return {{rounded_pair<T>(left.values[0], left.values[1]),
           rounded_pair<T>(left.values[2], left.values[3]),
           rounded_pair<T>(right.values[0], right.values[1]),
           rounded_pair<T>(right.values[2], right.values[3])}};
}

/// Of 8 rows of memory, from `at` on, 16 columns: they are b's columns and rows.
template <class T>
__device__ FragmentB load_transposed_b(const T* at, int pitch) {
  const T* const row = at + FragmentC::row(0) * pitch + FragmentC::column(0);
  return {{aligned_pair(row), aligned_pair(row + 8)}};
}

/// 16 rows and 8 columns from `at` on.
template <class T>
__device__ FragmentB load_b(const T* at, int pitch) {
  const T* const column = at + FragmentC::column(0) * pitch + FragmentC::row(0);
  const auto pair = [&](int row) {
    return std::bit_cast<unsigned>(HalfPair<T>{column[row * pitch], column[(row + 1) * pitch]});
  };
  return {{pair(0), pair(8)}};
}

}  // namespace penstock::layers::cuda
