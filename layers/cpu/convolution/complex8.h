#pragma once

#include <cstdint>

#include "layers/cpu/vector.h"

namespace penstock::layers {

/// Eight complex numbers, of eight neighbouring channels: one cache line.
struct alignas(64) Complex8 {
  Vector<float> re, im;
};

inline Complex8 operator+(const Complex8& a, const Complex8& b) {
  return {a.re + b.re, a.im + b.im};
}
inline Complex8 operator-(const Complex8& a, const Complex8& b) {
  return {a.re - b.re, a.im - b.im};
}
inline Complex8 times(const Complex8& a, float re, float im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}

/// Returns `count` made odd. Rows that lie an odd number of cache lines apart spread over all sets
/// of a cache.
constexpr long odd(long count) { return count | 1; }

/// The complex product C_MN = A_MK · B_KN, with N in whole groups of 8. Strides count groups
/// between rows.
struct Complex8Product {
  std::int64_t m = 0, k = 0, n_groups = 0;
  const Complex8* a = nullptr;  // rows of M with groups of K, or rows of K with groups of M
  std::int64_t a_stride = 0;
  const Complex8* b = nullptr;
  std::int64_t b_stride = 0;
  Complex8* c = nullptr;
  std::int64_t c_stride = 0;
};

/// Sets C = A · B. The rows of A are M.
void multiply(const Complex8Product&);
/// Sets C = A · conj(B). The rows of A are M.
void multiply_by_conjugate(const Complex8Product&);
/// Sets C_mn = sum over k of A_km · conj(B_kn), or adds it to C if `add`. The rows of A are K.
void multiply_transposed_by_conjugate(const Complex8Product&, bool add);

}  // namespace penstock::layers
