#pragma once

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

}  // namespace penstock::layers
