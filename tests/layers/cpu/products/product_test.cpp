#include "layers/cpu/products/product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "layers/backend.h"

namespace penstock::layers {
namespace {

struct Case {
  std::int64_t m, n, k;
  bool a_transposed, b_transposed;
};

template <class T>
std::vector<T> random_numbers(std::int64_t count, std::mt19937& random) {
  std::uniform_real_distribution<T> uniform(-1, 1);
  std::vector<T> numbers(count);
  for (T& number : numbers) number = uniform(random);
  return numbers;
}

/// Largest |C − reference|, the reference summed in FP64, over the largest value that numbers below
/// one allow. The factors are wider than the product needs, so that a wrong stride shows.
template <class T>
double error(const Case& shape, T alpha, T beta) {
  const auto& [m, n, k, a_transposed, b_transposed] = shape;
  std::mt19937 random(7);
  const std::int64_t a_stride = (a_transposed ? m : k) + 3, b_stride = (b_transposed ? k : n) + 5,
                     c_stride = n + 2;
  const auto a = random_numbers<T>((a_transposed ? k : m) * a_stride, random);
  const auto b = random_numbers<T>((b_transposed ? n : k) * b_stride, random);
  auto c = random_numbers<T>(m * c_stride, random);
  if (beta == 0) c.assign(c.size(), std::numeric_limits<T>::quiet_NaN());
  const auto before = c;
  run_product(Product<T>{m,
                         n,
                         k,
                         {a.data(), a_stride, a_transposed},
                         {b.data(), b_stride, b_transposed},
                         c.data(),
                         c_stride,
                         alpha,
                         beta});
  double worst = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = beta == 0 ? 0 : static_cast<double>(beta) * before[i * c_stride + j];
      for (std::int64_t l = 0; l < k; ++l)
        sum += static_cast<double>(alpha) * a[a_transposed ? l * a_stride + i : i * a_stride + l] *
               b[b_transposed ? j * b_stride + l : l * b_stride + j];
      const double found = c[i * c_stride + j];
      if (std::isnan(found)) return found;
      worst = std::max(worst, std::abs(found - sum));
    }
  return worst / static_cast<double>(k + 2);
}

class ProductTest : public testing::TestWithParam<Case> {};

TEST_P(ProductTest, EqualsThePlainSums) {
  for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, {1.0, 1.0}, {-0.5, 2.0}}) {
    EXPECT_LE(error<float>(GetParam(), static_cast<float>(alpha), static_cast<float>(beta)), 2e-7);
    EXPECT_LE(error<double>(GetParam(), alpha, beta), 1e-15);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ProductTest,
                         testing::Values(Case{1, 29, 31, false, true},
                                         Case{13, 7, 64, false, false},
                                         Case{67, 33, 5, false, true}, Case{17, 9, 26, true, false},
                                         Case{65, 31, 26, true, false}, Case{64, 1, 1, true, true},
                                         Case{130, 70, 261, false, false},
                                         Case{130, 70, 261, true, false},
                                         Case{1021, 66, 5, true, false}));

TEST(ProductTest, AnEmptyProductLeavesCAlone) {
  float c = 3;
  run_product(
      Product<float>{.m = 0, .n = 1, .k = 1, .a = {&c, 1}, .b = {&c, 1}, .c = &c, .c_stride = 1});
  EXPECT_EQ(c, 3);
}

}  // namespace
}  // namespace penstock::layers
