#include "layers/cpu/convolution/octet_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <limits>
#include <random>
#include <vector>

namespace penstock {
namespace {

using Complex = std::complex<double>;
using Octets = std::vector<Octet>;

Octets random_octets(std::int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  Octets octets(static_cast<std::size_t>(count));
  for (Octet& octet : octets)
    for (int lane = 0; lane < 8; ++lane) {
      octet.re[lane] = uniform(random);
      octet.im[lane] = uniform(random);
    }
  return octets;
}

Complex number(const Octets& rows, std::int64_t stride, std::int64_t row, std::int64_t i) {
  const Octet& octet = rows[row * stride + i / 8];
  return {octet.re[i % 8], octet.im[i % 8]};
}

constexpr std::int64_t kM = 11, kK = 21, kOctets = 3;  // all kernels and what they leave over
constexpr std::int64_t kAStride = 4, kBStride = 5, kCStride = 6;

struct Factors {
  std::mt19937 random{5};
  Octets a = random_octets(kK * kAStride, random), b = random_octets(kK * kBStride, random),
         c = random_octets(kM * kCStride, random);
  const Octets before = c;

  OctetProduct product() {
    return {kM, kK, kOctets, a.data(), kAStride, b.data(), kBStride, c.data(), kCStride};
  }
  // Largest error against the sum over k of a(m, k)·b(k, n) + before(m, n); all numbers are
  // below 1.
  template <class A, class B>
  double error(const A& a_mk, const B& b_kn, bool add) const {
    double worst = 0;
    for (std::int64_t m = 0; m < kM; ++m)
      for (std::int64_t n = 0; n < kCStride * 8; ++n) {
        const Complex held = number(before, kCStride, m, n);
        Complex sum = add || n >= kOctets * 8 ? held : Complex{};
        for (std::int64_t k = 0; n < kOctets * 8 && k < kK; ++k) sum += a_mk(m, k) * b_kn(k, n);
        worst = std::max(worst, std::abs(number(c, kCStride, m, n) - sum));
      }
    return worst;
  }
};

constexpr double kTolerance = 4 * kK * std::numeric_limits<float>::epsilon();

TEST(OctetProduct, MultipliesPlainAndConjugate) {
  Factors f;
  const auto a = [&](std::int64_t m, std::int64_t k) { return number(f.a, kAStride, m, k); };
  const auto b = [&](std::int64_t k, std::int64_t n) { return number(f.b, kBStride, k, n); };
  const auto conjugate = [&](std::int64_t k, std::int64_t n) { return std::conj(b(k, n)); };
  multiply(f.product());
  EXPECT_LE(f.error(a, b, false), kTolerance);
  multiply_by_conjugate(f.product());
  EXPECT_LE(f.error(a, conjugate, false), kTolerance);
}

TEST(OctetProduct, MultipliesTransposedAndAdds) {
  Factors f;
  const auto a = [&](std::int64_t m, std::int64_t k) { return number(f.a, kAStride, k, m); };
  const auto conjugate = [&](std::int64_t k, std::int64_t n) {
    return std::conj(number(f.b, kBStride, k, n));
  };
  multiply_transposed_by_conjugate(f.product(), true);
  EXPECT_LE(f.error(a, conjugate, true), kTolerance);
  multiply_transposed_by_conjugate(f.product(), false);
  EXPECT_LE(f.error(a, conjugate, false), kTolerance);
}

}  // namespace
}  // namespace penstock
