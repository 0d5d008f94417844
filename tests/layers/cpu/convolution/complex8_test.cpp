#include "layers/cpu/convolution/complex8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <limits>
#include <random>
#include <vector>

namespace penstock::layers {
namespace {

using Complex = std::complex<double>;
using Row8 = std::vector<Complex8>;

Row8 random_row8(std::int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  Row8 groups(static_cast<std::size_t>(count));
  for (Complex8& group : groups)
    for (int lane = 0; lane < 8; ++lane) {
      group.re[lane] = uniform(random);
      group.im[lane] = uniform(random);
    }
  return groups;
}

Complex number(const Row8& rows, std::int64_t stride, std::int64_t row, std::int64_t i) {
  const Complex8& group = rows[row * stride + i / 8];
  return {group.re[i % 8], group.im[i % 8]};
}

constexpr std::int64_t kM = 11, kK = 21, kGroups = 3;  // all kernels and what they leave over
constexpr std::int64_t kAStride = 4, kBStride = 5, kCStride = 6;

struct Factors {
  std::mt19937 random{5};
  Row8 a = random_row8(kK * kAStride, random), b = random_row8(kK * kBStride, random),
       c = random_row8(kM * kCStride, random);
  const Row8 before = c;

  Complex8Product product() {
    return {kM, kK, kGroups, a.data(), kAStride, b.data(), kBStride, c.data(), kCStride};
  }
  // Largest error against the sum over k of a(m, k)·b(k, n) + before(m, n); all numbers are
  // below 1.
  template <class A, class B>
  double error(const A& a_mk, const B& b_kn, bool add) const {
    double worst = 0;
    for (std::int64_t m = 0; m < kM; ++m)
      for (std::int64_t n = 0; n < kCStride * 8; ++n) {
        const Complex held = number(before, kCStride, m, n);
        Complex sum = add || n >= kGroups * 8 ? held : Complex{};
        for (std::int64_t k = 0; n < kGroups * 8 && k < kK; ++k) sum += a_mk(m, k) * b_kn(k, n);
        worst = std::max(worst, std::abs(number(c, kCStride, m, n) - sum));
      }
    return worst;
  }
};

constexpr double kTolerance = 4 * kK * std::numeric_limits<float>::epsilon();

TEST(Complex8Product, MultipliesPlainAndConjugate) {
  Factors f;
  const auto a = [&](std::int64_t m, std::int64_t k) { return number(f.a, kAStride, m, k); };
  const auto b = [&](std::int64_t k, std::int64_t n) { return number(f.b, kBStride, k, n); };
  const auto conjugate = [&](std::int64_t k, std::int64_t n) { return std::conj(b(k, n)); };
  multiply(f.product());
  EXPECT_LE(f.error(a, b, false), kTolerance);
  multiply_by_conjugate(f.product());
  EXPECT_LE(f.error(a, conjugate, false), kTolerance);
}

TEST(Complex8Product, MultipliesTransposedAndAdds) {
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
}  // namespace penstock::layers
