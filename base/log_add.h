#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock {

/// Returns log(e^a + e^b), where -∞ is the logarithm of 0. NaN stays NaN.
inline double log_add(double a, double b) {
  constexpr double kLogOfZero = -std::numeric_limits<double>::infinity();
  if (a == kLogOfZero) return b;
  if (b == kLogOfZero) return a;
  return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
}

}  // namespace penstock
