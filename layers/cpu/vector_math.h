#pragma once

#include <immintrin.h>

#include <cmath>
#include <cstdint>

#include "layers/cpu/vector.h"

namespace penstock::layers {

/// Returns e^x, lane by lane, for x clamped to [-87.3, 88.3], with a relative error below 2e-7. NaN
/// stays NaN. It is 2^n · e^r with n = round(x / ln 2) and a polynomial for e^r, |r| ≤ ln 2 / 2
/// (Cephes, expf).
[[gnu::always_inline]] inline Vector<float> exp(Vector<float> x) {
  typedef std::uint32_t Bits __attribute__((vector_size(32)));
  x = _mm256_max_ps(_mm256_set1_ps(-87.3f), _mm256_min_ps(_mm256_set1_ps(88.3f), x));
  constexpr float kRound = 0x1.8p23f;  // added, it leaves round(·) in the lowest bits
  const Vector<float> shifted = x * 1.44269504088896341f + kRound;
  const Vector<float> n = shifted - kRound;
  const Vector<float> r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  const Vector<float> square = r * r;
  const Vector<float> low = r * 1.6666665459e-1f + 5.0000001201e-1f;
  const Vector<float> middle = r * 8.3334519073e-3f + 4.1665795894e-2f;
  const Vector<float> high = r * 1.9875691500e-4f + 1.3981999507e-3f;
  const Vector<float> p = ((high * square + middle) * square + low) * square + (r + 1.0f);
  return reinterpret_cast<Vector<float>>(reinterpret_cast<Bits>(p) +
                                         (reinterpret_cast<Bits>(shifted) << 23));
}

/// Returns tanh x, lane by lane, with a relative error below 2e-7. Near 0 it is an odd polynomial
/// (Cephes, tanhf), because 1 − 2 / (e^2|x| + 1) would lose digits there.
[[gnu::always_inline]] inline Vector<float> tanh(Vector<float> x) {
  const Vector<float> sign_bit = _mm256_set1_ps(-0.0f);
  const Vector<float> size = _mm256_andnot_ps(sign_bit, x);
  const Vector<float> square = x * x;
  Vector<float> p = square * -5.70498872745e-3f + 2.06390887954e-2f;
  p = p * square - 5.37397155531e-2f;
  p = p * square + 1.33314422036e-1f;
  p = p * square - 3.33332819422e-1f;
  const Vector<float> near = x + x * square * p;
  const Vector<float> far = 1.0f - 2.0f / (exp(size + size) + 1.0f);
  return size < 0.625f ? near : Vector<float>(_mm256_or_ps(far, _mm256_and_ps(sign_bit, x)));
}

/// Returns erf x, lane by lane, with an error below 4e-7 of the result. It is an odd rational
/// function from a minimax fit, as in Eigen and XLA. x is clamped to [-4, 4], where erf is ±1 to
/// FP32's digits.
[[gnu::always_inline]] inline Vector<float> erf(Vector<float> x) {
  x = _mm256_max_ps(_mm256_set1_ps(-4.0f), _mm256_min_ps(_mm256_set1_ps(4.0f), x));
  const Vector<float> square = x * x;
  Vector<float> p = square * -2.72614225801306e-10f + 2.77068142495902e-08f;
  p = p * square - 2.10102402082508e-06f;
  p = p * square - 5.69250639462346e-05f;
  p = p * square - 7.34990630326855e-04f;
  p = p * square - 2.95459980854025e-03f;
  p = p * square - 1.60960333262415e-02f;
  Vector<float> q = square * -1.45660718464996e-05f - 2.13374055278905e-04f;
  q = q * square - 1.68282697438203e-03f;
  q = q * square - 7.37332916720468e-03f;
  q = q * square - 1.42647390514189e-02f;
  return x * p / q;
}

/// In FP64, which gradient checks use, these call the library's functions lane by lane.
[[gnu::always_inline]] inline Vector<double> exp(Vector<double> x) {
  for (int lane = 0; lane < kLanes<double>; ++lane) x[lane] = std::exp(x[lane]);
  return x;
}
[[gnu::always_inline]] inline Vector<double> tanh(Vector<double> x) {
  for (int lane = 0; lane < kLanes<double>; ++lane) x[lane] = std::tanh(x[lane]);
  return x;
}

[[gnu::always_inline]] inline Vector<double> erf(Vector<double> x) {
  for (int lane = 0; lane < kLanes<double>; ++lane) x[lane] = std::erf(x[lane]);
  return x;
}

/// Returns 1 / (1 + e^-x), lane by lane, with a relative error below 3e-7 if the result is above
/// 1e-37.
[[gnu::always_inline]] inline Vector<float> sigmoid(Vector<float> x) {
  return 1.0f / (1.0f + exp(-x));
}
[[gnu::always_inline]] inline Vector<double> sigmoid(Vector<double> x) {
  return 1.0 / (1.0 + exp(-x));
}

}  // namespace penstock::layers
