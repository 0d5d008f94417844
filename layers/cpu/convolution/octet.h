#pragma once

#include "layers/cpu/vector.h"

namespace penstock {

/// Eight complex numbers, of eight neighbouring channels: one cache line.
struct alignas(64) Octet {
  Vector<float> re, im;
};

inline Octet operator+(const Octet& a, const Octet& b) { return {a.re + b.re, a.im + b.im}; }
inline Octet operator-(const Octet& a, const Octet& b) { return {a.re - b.re, a.im - b.im}; }
inline Octet times(const Octet& a, float re, float im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}

/// `count` made odd: rows that far apart, in cache lines, spread over all sets of a cache.
constexpr long odd(long count) { return count | 1; }

}  // namespace penstock
